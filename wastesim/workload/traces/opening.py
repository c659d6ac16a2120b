"""From a path to text: compression, byte-order marks, and what is no text at all."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn, cast

from wastesim.errors import InputError, Problem

_KINDS = {
    b"PAR1": "is a Parquet file; save it as CSV or JSON lines",
    b"PK\x03\x04": "is a ZIP archive or a spreadsheet; save it as CSV",
    b"BZh": "is compressed with bzip2; use gzip or unpack it",
    b"\xfd7zXZ\x00": "is compressed with xz; use gzip or unpack it",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; use gzip or unpack it",
    b"\xd0\xcf\x11\xe0": "is an old spreadsheet; save it as CSV",
}
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def refuse(where: object, message: str) -> NoReturn:
    """InputError with one problem."""
    raise InputError([Problem(str(where), message)])


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The text of a plain or gzip file, UTF-8 or UTF-16, with or without byte-order mark.

    Bytes that are no UTF-8 become U+FFFD, so that one odd byte costs one cell and not the file.
    Line ends stay as they are.  InputError when the file cannot be read or is no text.
    """
    try:
        with _open_bytes(path) as stream:
            yield io.TextIOWrapper(stream, _encoding(path), errors="replace", newline="")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        refuse(path, f"cannot be read ({reason})")


def first_character(path: Path) -> str:
    """The first character that is not blank; a blank when there is none nearby."""
    with open_text(path) as stream:
        return stream.read(4096).lstrip()[:1] or " "


def _open_bytes(path: Path) -> IO[bytes]:
    if path.is_dir():
        refuse(path, "is a folder; name the trace file in it")
    with path.open("rb") as stream:
        compressed = stream.read(2) == _GZIP
    if compressed:
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _encoding(path: Path) -> str:
    """The encoding that the first bytes show; InputError when they are no text."""
    with _open_bytes(path) as stream:
        start = stream.read(4096)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        refuse(path, "is empty")
    for magic, message in _KINDS.items():
        if start.startswith(magic):
            refuse(path, message)
    if start.startswith(_UTF16):
        return "utf-16"
    if b"\0" in start:
        refuse(path, "is not a text file (it has zero bytes)")
    return "utf-8-sig"
