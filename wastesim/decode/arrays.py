"""Array types of the decode room, and the letters its shape comments use.

::

    N  tokens computed in one step        B  requests in one step
    H  query heads                        G  KV heads
    M  query heads per KV head, H / G     D  head dim
    E  width of the residual stream       F  inner width of the feed-forward part
    V  vocabulary                         L  layers
    T  tokens a request has stored, so the cells its attention reads
    R  rows (of D numbers) in one cell: L * 2 * G
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]
Stored: TypeAlias = NDArray[Any]  # float32, or the bytes of a codec
