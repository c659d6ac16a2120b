"""Other people's policies: what goes wrong in them is told with verb, request and line."""

from __future__ import annotations

from typing import Any

import pytest

from wastesim import simulate
from wastesim.address import Placement, Span
from wastesim.allocation import Ask, Growth, Holding, PolicyBase, Pool, Slots, build_policy
from wastesim.config.policy import ForeignPolicy
from wastesim.errors import AllocationError, ConfigError

POOL = Pool(1000, 100, block_cells=16, tensor_bytes_per_cell=2048)
ASK = Ask(3, 5, 4, None, 5)


class Halves(PolicyBase):
    """Two halves; `wrong` maps verbs to what they give, or raise, instead."""

    def __init__(self, pool: Pool, wrong: dict[str, Any] | None = None) -> None:
        self.capacity_cells, self.half = pool.capacity_cells, pool.capacity_cells // 2
        self.held: dict[int, int] = {}
        self.wrong = wrong or {}
        self.wrong.pop("init", int)()

    @property
    def free_cells(self) -> int:
        return self.capacity_cells - self.half * len(self.held)

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        return self.turn("fits", len(self.held) < 2 and tokens <= self.half)

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        return self.turn("needs_at_most", (final_tokens, self.half))

    def place(self, ask: Ask, tokens: int) -> Holding | None:
        self.held[ask.request_id] = self.half if 0 in self.held.values() else 0
        return self.turn("place", Holding.of(self.half, self.half))

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        return self.turn("grow", Growth(Holding.of(self.half, self.half)))

    def placement(self, request_id: int) -> Placement:
        return self.turn("placement", Placement.single(self.held[request_id], self.half))

    def release(self, request_id: int) -> None:
        del self.held[self.turn("release", request_id)]

    def turn(self, verb: str, right: Any) -> Any:
        found = self.wrong.get(verb, right)
        return found() if callable(found) else found


class Half(Slots):
    """A policy of one's own on the shoulders of one of wastesim's."""

    def __init__(self, pool: Pool) -> None:
        super().__init__("half", pool.capacity_cells, pool.max_model_len // 2)


def built(wrong: dict[str, Any] | None = None) -> Any:
    return build_policy(ForeignPolicy(path=f"{__name__}:Halves", options={"wrong": wrong}), POOL)


def boom() -> Any:
    raise KeyError("nobody")


def asked(policy: Any, verb: str) -> Any:
    words = {"release": (3,), "placement": (3,), "grow": (3, 9), "ceiling": (), "check": ()}
    return getattr(policy, verb)(*words.get(verb, (ASK, 5)))


@pytest.mark.parametrize("verb", ["fits", "needs_at_most", "place", "grow", "placement", "release"])
def test_what_a_verb_raises_is_told_with_its_request_and_line(verb: str) -> None:
    policy = built({verb: boom})
    policy._policy.held[3] = 0
    said = rf"policy {__name__}:Halves: `{verb}` for request 3 raised KeyError: 'nobody'"
    with pytest.raises(AllocationError, match=rf"{said} \(.*test_guard\.py, line \d+: raise Key"):
        asked(policy, verb)


def test_the_exception_itself_is_the_cause() -> None:
    with pytest.raises(AllocationError) as caught:
        built({"place": boom}).place(ASK, 5)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("fits", None, "`fits` for request 3 must give True or False (got None)"),
        ("needs_at_most", 5, "must give two numbers of cells (got 5)"),
        ("needs_at_most", (5,), "must give two numbers of cells (got (5,))"),
        ("place", 7, "`place` for request 3 must give a Holding or None (got 7)"),
        ("grow", True, "`grow` for request 3 must give a Growth or None (got True)"),
        ("placement", None, "`placement` for request 3 must give a Placement (got None)"),
    ],
)
def test_what_a_verb_must_not_give_is_told(verb: str, given: Any, said: str) -> None:
    policy = built({verb: given})
    policy._policy.held[3] = 0
    with pytest.raises(AllocationError) as caught:
        asked(policy, verb)
    assert said in str(caught.value)


def test_a_call_that_never_reaches_the_policy_has_no_line() -> None:
    with pytest.raises(AllocationError, match=r"raised TypeError: [^()]*\(\) [^()]*$"):
        built().ceiling(1, 2, 3)


def test_what_wastesim_itself_says_of_a_policy_passes() -> None:
    with pytest.raises(AllocationError, match=r"^Halves has no sliding windows$"):
        built().slide(3, 9)


def test_a_guarded_policy_looks_like_what_it_is() -> None:
    policy = built()
    assert isinstance(policy, Halves)
    assert (policy.name, policy.grows, policy.slides) == ("Halves", False, False)
    assert (policy.half, policy.free_cells, policy.fits(ASK, 5, spare_cells=0)) == (500, 1000, True)
    half = build_policy(ForeignPolicy(path=f"{__name__}:Half"), POOL)
    assert isinstance(half, Slots)
    assert (half.slots, half.place(ASK, 5)) == (20, Holding.of(50, 50))


def test_wastesims_own_policies_are_called_as_they_are() -> None:
    from wastesim.config.policy import PRESETS

    assert type(build_policy(PRESETS["contiguous"], POOL)) is Slots


def test_a_class_that_raises_when_it_is_made_is_told_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"cannot be made: KeyError: 'nobody' \(.*raise KeyError"):
        built({"init": boom})


def test_a_module_with_a_mistake_is_told_with_its_line(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_policy.py").write_text("x = 1\ny = nothing\n")
    with pytest.raises(ConfigError, match=r"NameError: .*broken_policy\.py, line 2: y = not"):
        build_policy(ForeignPolicy(path="broken_policy:Mine"), POOL)


@pytest.mark.parametrize("scheduler", ["orca", "vllm"])
@pytest.mark.parametrize("engine", ["none", "numpy"])
def test_a_run_ends_with_what_the_policy_raised(scheduler: str, engine: str) -> None:
    tree = {
        "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1,
                  "params": 1000},
        "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
        "workload": {"lengths": {"prompt": 3, "output": 4}, "num_requests": 3},
        "server": {"max_model_len": 16, "kv_cache_memory_bytes": 400, "scheduler": scheduler,
                   "policy": {"path": f"{__name__}:Halves", "options": {"wrong": {
                       "release": "nobody"}}}},
        "decode": {"engine": engine},
    }  # fmt: skip
    with pytest.raises(AllocationError, match="`release` for request 0 raised KeyError: 'nobody'"):
        simulate(tree)


def ask(request_id: int) -> Ask:
    return Ask(request_id, 5, 4, None, 5)


class Leaky(Halves):
    """Keeps what request 3 had."""

    def release(self, request_id: int) -> None:
        if request_id != 3:
            super().release(request_id)


def test_a_leak_is_told_of_the_release_that_leaks() -> None:
    policy = build_policy(ForeignPolicy(path=f"{__name__}:Leaky"), POOL)
    policy.place(ask(4), 5)
    policy.place(ask(3), 5)
    policy.release(4)
    with pytest.raises(
        AllocationError,
        match="`release` for request 3: requests hold 0 of 1000 cells, but free_cells is 500, not",
    ):
        policy.release(3)


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (((0, 500),), "its cell 0 is also request 3's"),
        (((250, 750),), "its cell 250 is also request 3's"),
        (((500, 1000), (500, 500)), "its cells 500 to 500 are not in a pool of 1000"),
        (((600, 1100),), "its cells 600 to 1100 are not in a pool of 1000"),
        (((-5, 495),), "its cells -5 to 495 are not in a pool of 1000"),
        (((500, 505),), "it holds 500 cells, and its placement has 5"),
        (((500, 750), (700, 950)), "its cell 700 is also request 4's"),
    ],
)
def test_addresses_are_looked_at_without_a_decode(
    spans: tuple[tuple[int, int], ...], said: str
) -> None:
    policy = built()
    policy.place(ask(3), 5)
    policy._policy.wrong["placement"] = Placement(tuple(Span(*span) for span in spans))
    with pytest.raises(AllocationError) as caught:
        policy.place(ask(4), 5)
    assert str(caught.value).startswith(f"policy {__name__}:Halves: `place` for request 4: it")
    assert said in str(caught.value)


def test_cells_that_were_given_back_may_be_anybodys() -> None:
    policy = built()
    for request_id in range(20):
        policy.place(ask(request_id), 5)
        if request_id % 2:
            policy.release(request_id - 1)
            policy.release(request_id)
    assert policy.free_cells == 1000


def test_a_pool_cannot_be_larger_than_it_is() -> None:
    with pytest.raises(ConfigError, match=r"must be the pool.s 1000 or less \(got 9999\)"):
        build_policy(ForeignPolicy(path=f"{__name__}:Doubled"), POOL)


class Doubled(Halves):
    """Believes in more than there is."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self.capacity_cells = 9999
