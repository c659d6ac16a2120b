"""What small random experiments are made of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from wastesim.config.policy import PRESETS, VALID

MODEL = {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000}
#: Claims of requests that can outgrow what they got.
GROWING = ("predicted", "prompt", "doubling")


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any] | str:
    """A preset, or any valid pair with small sizes; paged ones twice as often."""
    name = draw(st.sampled_from(["paged", "token", *PRESETS, None, None]))
    if name not in (None, "vattention"):
        return name
    place = draw(st.sampled_from([*sorted(VALID), "blocks"]))
    pair: dict[str, Any] = {"place": place, "claim": draw(st.sampled_from(VALID[place]))}
    if place == "blocks":
        pair["block_size"] = draw(st.integers(1, 20))
    if place == "pages":
        pair["page_size"] = f"{2 * draw(st.integers(1, 20))} B"
    if place == "buddy":
        pair["granule_tokens"] = draw(st.integers(1, 20))
    if place == "divided":
        pair["n_parallel"] = draw(st.integers(1, 6))
    if pair["claim"] == "doubling":
        pair["start_tokens"] = draw(st.integers(1, 30))
    return pair


def least_cells(policy: dict[str, Any] | str) -> int:
    """Cells of the smallest pool that the policy can be built over."""
    if isinstance(policy, str):
        return PRESETS[policy].n_parallel if policy == "divided" else 1
    return int(policy.get("n_parallel", 1))


def grows(policy: dict[str, Any] | str) -> bool:
    """Whether its requests can outgrow what they got."""
    return (PRESETS[policy].claim if isinstance(policy, str) else policy["claim"]) in GROWING
