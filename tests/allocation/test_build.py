"""From a description to a policy: the table of valid pairs, sizes, and other people's classes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest

from wastesim import load_experiment
from wastesim.allocation import Ask, Holding, PolicyBase, Pool, block_cells, build_policy
from wastesim.allocation.buddy import Buddy
from wastesim.config.policy import PRESETS, VALID, ClaimKind, ForeignPolicy, PlaceKind, Policy
from wastesim.errors import AllocationError, ConfigError

POOL = Pool(1000, 100, block_cells=16, tensor_bytes_per_cell=2048)


def policy(claim: str, place: str, **options: Any) -> Policy:
    return Policy(claim=claim, place=place, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("place", "claim"), [*product(get_args(PlaceKind), get_args(ClaimKind))])
def test_a_pair_is_built_or_refused_with_what_would_be_valid(place: str, claim: str) -> None:
    if claim in VALID[place]:
        built = build_policy(policy(claim, place), POOL)
        assert built.grows == policy(claim, place).grows
        built.check()
        return
    with pytest.raises(ValueError, match=f"claim '{claim}' makes no sense with place '{place}'; it"
                       f" goes with {', '.join(VALID[place])}"):  # fmt: skip
        policy(claim, place)


def test_an_invalid_pair_in_an_experiment_is_told_at_its_place() -> None:
    bad = {"claim": "prompt", "place": "buddy"}
    tree = {"model": "llama-3-8b", "gpu": "a100-sxm-40gb",
            "workload": {"lengths": "sharegpt", "num_requests": 1},
            "server": {"max_model_len": 8, "policy": bad}}  # fmt: skip
    with pytest.raises(ConfigError, match="claim 'prompt' makes no sense with place 'buddy'"):
        load_experiment(tree)


def test_every_place_has_a_row_of_valid_claims() -> None:
    assert set(VALID) == set(get_args(PlaceKind))


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_built_under_its_name(name: str) -> None:
    assert build_policy(PRESETS[name], POOL).name == name


def test_slots_of_the_whole_context_and_of_a_divided_one() -> None:
    assert build_policy(PRESETS["contiguous"], POOL).place(Ask(0, 1, 1), 1) == Holding.of(100, 100)
    assert build_policy(PRESETS["divided"], POOL).place(Ask(0, 1, 1), 1) == Holding.of(250, 250)


def test_more_slots_than_cells_are_refused() -> None:
    assert build_policy(policy("max_model_len", "divided", n_parallel=1000), POOL).slots == 1000
    with pytest.raises(ConfigError, match=r"n_parallel' must be <= 1,000, .* \(got 1,001"):
        build_policy(policy("max_model_len", "divided", n_parallel=1001), POOL)


@pytest.mark.parametrize(("max_model_len", "chunk"), [(2048, 2048), (2049, 4096), (3000, 4096)])
def test_a_buddy_has_a_chunk_for_the_largest_claim(max_model_len: int, chunk: int) -> None:
    """A limit that is no power of two must not leave every whole context without a chunk."""
    pool = Pool(10_000, max_model_len, 16, 2048)
    built = build_policy(PRESETS["orca_max"], pool)
    assert built.place(Ask(0, 1, 1), 1) == Holding.of(chunk, max_model_len)


def test_a_buddys_chunks_can_be_chosen() -> None:
    built = build_policy(policy("oracle", "buddy", granule_tokens=8, largest_tokens=64), POOL)
    assert built.needs_at_most(Ask(0, 60, 10, 10), 69) == (128, 64)


def test_a_granule_larger_than_the_pool_leaves_nothing_to_hand_out() -> None:
    assert Buddy(10, 16, 64).usable() == 0


@pytest.mark.parametrize(
    ("config", "cells"),
    [
        (PRESETS["paged"], 16),
        (PRESETS["token"], 1),
        (policy("prompt", "blocks", block_size=8192), 8192),
        (PRESETS["vattention"], 1024),  # 2 MiB of 2,048 B a cell
        (policy("prompt", "pages", page_size="64 KiB"), 32),
        (PRESETS["orca_max"], 1),
        (ForeignPolicy(path="a:B"), 1),
    ],
)
def test_cells_of_a_unit(config: Policy | ForeignPolicy, cells: int) -> None:
    assert block_cells(config, POOL) == cells


@pytest.mark.parametrize(
    ("config", "cells", "said"),
    [
        (policy("oracle", "best_fit"), 2**40 + 1, "1,099,511,627,776 cells"),
        (PRESETS["contiguous"], 10**10, "50,000,000 slots"),
        (policy("max_model_len", "divided", n_parallel=10**8), 10**10, "50,000,000 slots"),
        (PRESETS["paged"], 10**9, "50,000,000 blocks"),
        (PRESETS["orca_max"], 10**11, "50,000,000 chunks"),
    ],
    ids=str,
)
def test_a_pool_of_more_pieces_than_can_be_listed_is_refused(
    config: Policy, cells: int, said: str
) -> None:
    with pytest.raises(ConfigError, match=f"must have at most {said} .*larger pieces"):
        build_policy(config, replace(POOL, capacity_cells=cells))


def test_a_page_smaller_than_a_cell_is_refused_with_both_sizes() -> None:
    config = policy("prompt", "pages", page_size="2 kB")
    with pytest.raises(ConfigError, match=r"page_size' must hold a cell of 2048 B \(got 2000 B\)"):
        build_policy(config, POOL)


def test_a_page_smaller_than_a_cell_is_refused_in_an_experiment() -> None:
    from wastesim import simulate

    with pytest.raises(ConfigError, match="must hold a cell of 2048 B"):
        simulate({
            "model": "llama-3-8b", "gpu": "a100-sxm-40gb",
            "workload": {"lengths": "sharegpt", "num_requests": 1},
            "server": {"max_model_len": 2048, "policy": {
                "claim": "prompt", "place": "pages", "page_size": "1 KiB"}},
            "decode": {"engine": "none"},
        })  # fmt: skip


class Single(PolicyBase):
    """One request at a time gets all there is."""

    def __init__(self, pool: Pool, greedy: bool = True) -> None:
        self.capacity_cells, self.greedy = pool.capacity_cells, greedy
        self.free_cells = pool.capacity_cells

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        return self.free_cells > 0 and not spare_cells

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        self.free_cells = 0
        return Holding.of(self.capacity_cells, self.capacity_cells)

    def placement(self, request_id: int) -> Any:
        return None

    def release(self, request_id: int) -> None:
        self.free_cells = self.capacity_cells


class Growing(Single):
    """Promises to grow and does not say how."""

    grows = True


class Bare:
    """Has nothing."""

    def __init__(self, pool: Pool) -> None:
        self.name = "bare"


def foreign(name: str, **options: Any) -> ForeignPolicy:
    return ForeignPolicy(path=f"{__name__}:{name}", options=options)


def test_a_foreign_class_gets_the_pool_and_its_options() -> None:
    built = build_policy(foreign("Single", greedy=False), POOL)
    assert isinstance(built, Single)
    assert (built.name, built.capacity_cells, built.greedy) == ("Single", 1000, False)


def test_a_foreign_class_need_not_write_what_most_answer_alike() -> None:
    built = build_policy(foreign("Single"), POOL)
    ask = Ask(0, 3, 4, None, 3)
    assert built.fits_whole(ask)
    assert built.needs_at_most(ask, 6) == (6, 1000)
    assert built.ceiling() == (1000, "memory: 1,000 cells; lengths decide how many fit")
    assert built.fragmentation() is None
    assert not built.slides
    built.check()


def test_what_does_not_grow_or_slide_says_so_when_asked_to() -> None:
    built = build_policy(foreign("Single"), POOL)
    with pytest.raises(AllocationError, match="Single: request 5 must store 9 tokens, more than"):
        built.grow(5, 9)
    with pytest.raises(AllocationError, match="Single has no sliding windows"):
        built.slide(5, 9)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Bare", "must have capacity_cells, free_cells, fits, place, placement, release, ceiling,"),
        ("Growing", "must have grow; a class that inherits from"),
        ("Nobody", "cannot be loaded"),
    ],
)
def test_a_class_that_lacks_something_is_refused_by_name(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_policy(foreign(name), POOL)


@pytest.mark.parametrize("path", ["nowhere.at_all:Class", ":Class", "json:", "json"])
def test_what_cannot_be_imported_is_told_with_the_form(path: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be loaded .* 'package.module:ClassName'"):
        build_policy(ForeignPolicy(path=path), POOL)


def test_options_that_a_class_does_not_take_are_told() -> None:
    with pytest.raises(ConfigError, match=r"cannot be made: .*unexpected keyword argument 'size'"):
        build_policy(foreign("Single", size=3), POOL)


def test_entry_points_are_policies_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from wastesim.config import policy as config

    point = EntryPoint("single", f"{__name__}:Single", "wastesim.policies")
    monkeypatch.setattr(config, "entry_points", lambda group: [point])
    tree = {"model": "llama-3-8b", "gpu": "a100-sxm-40gb",
            "workload": {"lengths": "sharegpt", "num_requests": 1},
            "server": {"max_model_len": 2048, "policy": "single"}}  # fmt: skip
    chosen = load_experiment(tree).server.policy
    assert isinstance(chosen, ForeignPolicy)
    assert build_policy(chosen, POOL).name == "Single"
