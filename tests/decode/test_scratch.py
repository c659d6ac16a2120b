"""Buffers that outlive a step."""

from __future__ import annotations

import numpy as np

from wastesim.decode.scratch import Scratch


def test_a_name_keeps_its_memory_and_grows_when_needed():
    scratch = Scratch()
    first, smaller = scratch.get("scores", 100), scratch.get("scores", 60)
    assert (len(first), len(smaller)) == (100, 60)
    assert np.shares_memory(first, smaller)
    assert not np.shares_memory(first, scratch.get("blocks", 10))
    assert len(scratch.get("scores", 1000)) == 1000
