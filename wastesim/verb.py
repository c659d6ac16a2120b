"""How every verb reads its words: what is wrong with them is one line, as all errors are."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Verb(argparse.ArgumentParser):
    """argparse, without the block of usage before each error.  Exit code 2."""

    def error(self, message: str) -> NoReturn:
        """`error: argument -tp: must be ...` and where the options are listed; exits."""
        self.exit(2, f"error: {message}; '{self.prog} --help' lists the options\n")
