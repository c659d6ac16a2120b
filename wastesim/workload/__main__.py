"""`python -m wastesim.workload FILE`: what a trace or a workload is like.

The verb stands on top of all rooms, in `wastesim.describe`; this only hands over.
"""

from __future__ import annotations

import sys

from wastesim.describe import main

if __name__ == "__main__":
    sys.exit(main())
