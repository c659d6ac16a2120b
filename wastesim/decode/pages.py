"""An anonymous mapping whose resident pages can be counted, and given back.

Reserved memory is virtual and written memory is resident, provided that huge pages are off and
nobody else's mapping is merged with this one: the kernel joins neighbouring anonymous mappings
into one line of ``smaps``.  A page without access at either end keeps this one apart, and turns
an overrun into a crash instead of a wrong number.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from pathlib import Path

import numpy as np

from wastesim.decode.arrays import Bytes, Ints
from wastesim.errors import ConfigError
from wastesim.units import format_bytes

PAGE = mmap.PAGESIZE
_MAP_NORESERVE = 0x4000  # Linux; Python's mmap names it only from 3.13 on
_PROT_NONE = 0
_SMAPS = Path("/proc/self/smaps")
_LINUX = sys.platform.startswith("linux")


class PagedMemory:
    """`size` bytes, zero until written; only written pages occupy memory."""

    def __init__(self, size: int) -> None:
        self.size = -(-size // PAGE) * PAGE
        self._map = _reserve(self.size + 2 * PAGE)
        whole: Bytes = np.frombuffer(self._map, np.uint8)
        self.bytes: Bytes = whole[PAGE : PAGE + self.size]
        self.address: int = self.bytes.ctypes.data
        if _LINUX:
            _protect(self.address - PAGE)
            _protect(self.address + self.size)

    def clear(self, start: int, stop: int) -> None:
        """Make bytes ``[start, stop)`` read as zero, giving back every page this empties."""
        first, last = -(-start // PAGE), stop // PAGE
        if first < last:
            self._give_back(first, last)
        for page in {start // PAGE, (stop - 1) // PAGE}:
            if not first <= page < last:
                self._clear_edge(page, start, stop)

    def _clear_edge(self, page: int, start: int, stop: int) -> None:
        """Zero the range's part of a page it shares with a neighbour."""
        begin, end = page * PAGE, (page + 1) * PAGE
        part = self.bytes[max(start, begin) : min(stop, end)]
        if not part.any():
            return  # writing zeros would make an untouched page resident
        part[:] = 0
        # Stored K and V are never all zero, so an empty page holds nobody's cells.
        if not self.bytes[begin:end].any():
            self._give_back(page, page + 1)

    def _give_back(self, first: int, last: int) -> None:
        if _LINUX:
            self._map.madvise(mmap.MADV_DONTNEED, (first + 1) * PAGE, (last - first) * PAGE)
        else:  # elsewhere DONTNEED may keep the contents
            self.bytes[first * PAGE : last * PAGE] = 0

    def resident_bytes(self) -> int | None:
        """`Rss` of exactly this mapping; None where the system does not tell."""
        try:
            text = _SMAPS.read_text()
        except OSError:
            return None
        header = f"{self.address:x}-{self.address + self.size:x} "
        at = text.find(header)
        if at < 0:
            return None
        return int(text[text.index("\nRss:", at) :].split(None, 2)[1]) * 1024


def distinct_pages(starts: Ints, stops: Ints) -> int:
    """Pages touched by the byte ranges ``[start, stop)``, a page shared by several once."""
    if not starts.size:
        return 0
    order = np.argsort(starts)
    first, last = starts[order] // PAGE, (stops[order] - 1) // PAGE
    reached = np.maximum.accumulate(last)
    before = np.concatenate([[-1], reached[:-1]])
    return int(np.maximum(0, last - np.maximum(first, before + 1) + 1).sum())


def _reserve(size: int) -> mmap.mmap:
    if not _LINUX:
        return mmap.mmap(-1, size)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    try:
        mapping = mmap.mmap(-1, size, flags=flags)
    except (OSError, OverflowError):  # untouched pages are free, addresses are not endless
        raise ConfigError(
            f"the decode cannot reserve addresses for {format_bytes(size)}: set 'decode.engine' to"
            " none, or make the pool smaller ('server.kv_cache_memory_bytes')"
        ) from None
    mapping.madvise(mmap.MADV_NOHUGEPAGE)
    return mapping


def _protect(address: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_void_p(address), ctypes.c_size_t(PAGE), ctypes.c_int(_PROT_NONE))
    if libc.mprotect(*arguments):
        raise OSError(ctypes.get_errno(), "cannot protect a guard page")
