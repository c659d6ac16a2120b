"""`python -m wastesim.capacity`."""

from __future__ import annotations

import sys

from wastesim.capacity.cli import main

if __name__ == "__main__":
    sys.exit(main())
