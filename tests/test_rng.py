"""Named random streams: independent, the same in every process, and of each request its own."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from wastesim.rng import NAMES, Streams

GENERATORS = ("arrivals", "lengths", "policy")


def test_the_same_seed_gives_the_same_streams() -> None:
    for name in GENERATORS:
        one, two = getattr(Streams(7), name), getattr(Streams(7), name)
        assert one.integers(2**62, size=8).tolist() == two.integers(2**62, size=8).tolist()


def test_streams_of_different_names_and_seeds_differ() -> None:
    draws = {
        (seed, name): getattr(Streams(seed), name).integers(2**62)
        for seed in range(5)
        for name in GENERATORS
    }
    assert len(set(draws.values())) == len(draws)


def test_drawing_from_one_stream_moves_no_other() -> None:
    untouched, drawn = Streams(0), Streams(0)
    drawn.arrivals.random(1000)
    drawn.policy.random(3)
    drawn.tokens(5).random(9)
    assert drawn.lengths.random() == untouched.lengths.random()


def test_a_request_has_the_same_tokens_whenever_it_comes() -> None:
    streams = Streams(3)
    first = streams.tokens(17).integers(256, size=4)
    streams.tokens(2).random(100)
    assert np.array_equal(streams.tokens(17).integers(256, size=4), first)
    assert not np.array_equal(streams.tokens(18).integers(256, size=4), first)


def test_appending_a_name_leaves_the_others_as_they_were() -> None:
    """The order of `NAMES` is part of every recorded result."""
    assert NAMES[:4] == ("arrivals", "lengths", "tokens", "policy")
    children = np.random.SeedSequence(0).spawn(9)
    expected = np.random.default_rng(children[1]).random()
    assert Streams(0).lengths.random() == expected


@pytest.mark.parametrize("hash_seed", ["0", "1234"])
def test_streams_do_not_depend_on_the_process(hash_seed: str) -> None:
    code = "from wastesim.rng import Streams; s = Streams(5); print(s.policy.random(), s.tokens(1).random())"  # noqa: E501
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = Streams(5)
    assert done.stdout.split() == [str(here.policy.random()), str(here.tokens(1).random())]
