"""What an equivalence study found, in words: the same tokens, and how much less work."""

from __future__ import annotations

from typing import Any

from wastesim.report.laboratory import Grid, Words, tokens_of
from wastesim.report.text import bytes_, count, number, seconds

CACHED_BYTES = 2**25  # what a processor's cache may hold
NEAR_THE_ROOF = 0.4  # of the bandwidth: a step that moves less a second waits for more than memory
WITHOUT, WITH, LATE = "without", "with", "unturned"


def words(summary: dict[str, Any]) -> Words:
    """Everything the report of this study says."""
    last = summary["speedup"][-1]
    new = summary["new_tokens"]
    return Words(
        claim="The KV cache is an optimisation, not an approximation",
        evidence=(
            f"{_same(summary)}, and with it they were there"
            f" {last['times']:.1f} times sooner ({seconds(last['with_s'])} against"
            f" {seconds(last['without_s'])})"
        ),
        setting=(
            f"{summary['model']}, {count(summary['prompt_tokens'])} {tokens_of(summary)} as prompt,"
            f" {count(new)} new ones, greedy, one thread"
        ),
        paragraphs=[_identity(summary), _work(summary), _balance(summary), _late(summary)],
        grids=[_growth(summary), _speedup(summary), _intensity(summary), _memory(summary)],
        explanations=_explanations(summary),
    )


def _same(summary: dict[str, Any]) -> str:
    same, new = summary["identical"], count(summary["new_tokens"])
    if same["with_and_without"]:
        return f"all {new} tokens are the same with and without it"
    return f"the {new} tokens differ only in {same['near_ties']} near ties"


def _identity(summary: dict[str, Any]) -> str:
    same = summary["identical"]
    batch = "the same" if same["in_a_batch"] else "different by near ties"
    return (
        f"In a batch with {same['batch_requests'] - 1} requests of other lengths the tokens are"
        f" {batch}, and {count(same['batch_tokens_equal_to_reference'])} of"
        f" {count(same['batch_tokens'])} tokens of that batch are the choice of an uncached float64"
        f" reference. Its first and second choice were never closer than"
        f" {same['smallest_gap']:.1e}; below {same['near_tie_below']:.0e} a difference would count"
        f" as a near tie (there were {count(same['near_ties'] + same['batch_near_ties'])})."
    )


def _work(summary: dict[str, Any]) -> str:
    work = summary["work"]
    computed = work[WITHOUT]["columns_computed"] / work[WITH]["columns_computed"]
    flop = work[WITHOUT]["flop"] / work[WITH]["flop"]
    return (
        f"Without a cache every step computes the keys and values of all tokens again:"
        f" {count(work[WITHOUT]['columns_computed'])} columns against"
        f" {count(work[WITH]['columns_computed'])}, {computed:,.0f} times as many, and"
        f" {flop:,.0f} times the arithmetic."
    )


def limit(summary: dict[str, Any], row: dict[str, Any]) -> str:
    """What a decode step waits for: `cached` (not memory), `memory`, `arithmetic` or `neither`."""
    machine = summary["machine"]
    if summary["weights_bytes"] < CACHED_BYTES:
        return "cached"
    if row["intensity"] >= machine["balance_flop_per_byte"]:
        return "arithmetic"
    reached = row["bytes_per_s"] / machine["bandwidth_bytes_per_s"]
    return "memory" if reached >= NEAR_THE_ROOF else "neither"


def _balance(summary: dict[str, Any]) -> str:
    prefill, one, *_ = summary["intensity"]
    found = limit(summary, one)
    if found == "cached":
        return (
            f"This model's {bytes_(summary['weights_bytes'])} of weights stay in the processor's"
            " cache, so its times say nothing about memory; take a real one for that."
        )
    return (
        f"With it, a step at batch {one['batch']} does {one['intensity']:.2f} FLOP per byte it"
        f" moves and a prefill {number(prefill['intensity'])}; this machine balances at"
        f" {summary['machine']['balance_flop_per_byte']:.1f}. {_waits(summary, one, found)}"
    )


def _waits(summary: dict[str, Any], one: dict[str, Any], found: str) -> str:
    if found == "arithmetic":
        return "So that step waits for arithmetic."
    memory = number(summary["machine"]["bandwidth_bytes_per_s"] / 1e9)
    reached = f"{number(one['bytes_per_s'] / 1e9)} of {memory} GB/s reached"
    if found == "neither":
        return f"It stays far from both ({reached}), so memory alone does not explain its time."
    return (
        f"So decoding waits for memory ({reached}), and what the"
        " cache adds to its bytes is what limits a batch."
    )


def _late(summary: dict[str, Any]) -> str:
    work, same = summary["work"], summary["identical"]
    tokens = "the same tokens" if same["keys_turned_late"] else "tokens that differ by near ties"
    turned = work[LATE]["vectors_turned"] / work[WITH]["vectors_turned"]
    longer = _fastest(work[LATE]) / _fastest(work[WITH])
    return (
        f"Storing keys before RoPE and turning all of them at every read gives {tokens} for"
        f" {turned:,.0f} times as many turned vectors; its fastest step took {longer:.2f} times as"
        " long."
    )


def _fastest(work: dict[str, Any]) -> float:
    """The fastest of the later steps: others may share the machine, and spoil sums."""
    steps = work["seconds_by_step"]
    return float(min(steps[len(steps) // 2 :]))


def _size(value: float) -> str:
    """`11,970`, `13,380 G`."""
    return number(value) if value < 1e9 else f"{number(value / 1e9)} G"


def _growth(summary: dict[str, Any]) -> Grid:
    rows = [
        [
            row["what"],
            _size(row["without"]),
            _size(row["with"]),
            f"{row['ratio']:,.1f}",
            row["order_without"],
            row["order_with"],
        ]
        for row in summary["growth"]
    ]
    columns = ["total of all steps", "without", "with", "times", "grows as, without", "with"]
    note = (
        f"N = {count(summary['prompt_tokens'])} tokens of prompt,"
        f" T = {count(summary['new_tokens'])} new ones. A column is one token's keys"
        " and values in one layer. Bytes: weights once per step, columns written and read once"
        " each; activations are left out. Where two orders are given, the second wins in the end."
    )
    return Grid("Work", columns, rows, note)


def _speedup(summary: dict[str, Any]) -> Grid:
    rows = [
        [
            count(row["new_tokens"]),
            seconds(row["without_s"]),
            seconds(row["with_s"]),
            f"{row['times']:.1f}",
        ]
        for row in summary["speedup"]
    ]
    columns = ["new tokens", "without", "with", "times faster"]
    return Grid("Time until the n-th new token, prompt included", columns, rows)


def _intensity(summary: dict[str, Any]) -> Grid:
    rows = [
        [
            f"{row['kind']}, {'one prompt' if row['kind'] == 'prefill' else _batch(row['batch'])}",
            f"{row['intensity']:.2f}",
            seconds(row["seconds"]),
            number(row["flop_per_s"] / 1e9),
            number(row["bytes_per_s"] / 1e9),
            number(row["tokens_per_s"]),
        ]
        for row in summary["intensity"]
    ]
    machine = summary["machine"]
    note = (
        f"This machine, one thread: {number(machine['bandwidth_bytes_per_s'] / 1e9)} GB/s in"
        f" matrix-vector products, {number(machine['peak_flop_per_s'] / 1e9)} GFLOP/s in a large"
        " product. Each time is the best of several; others may share the machine."
    )
    columns = ["step", "FLOP per byte", "time", "GFLOP/s", "GB/s", "tokens/s"]
    return Grid("Arithmetic intensity", columns, rows, note)


def _batch(batch: int) -> str:
    return f"{count(batch)} request" + ("" if batch == 1 else "s")


def _memory(summary: dict[str, Any]) -> Grid:
    contexts = list(summary["memory"][0]["bytes_by_context"]) if summary["memory"] else []
    rows = [
        [
            row["model"],
            bytes_(row["bytes_per_token"]),
            bytes_(row["weights_bytes"]),
            *(bytes_(row["bytes_by_context"][tokens]) for tokens in contexts),
            count(row["overtakes_at_tokens"]),
        ]
        for row in summary["memory"]
    ]
    columns = ["model", "KV per token", "weights", *(count(int(t)) for t in contexts),
               "passes weights at"]  # fmt: skip
    note = (
        "KV in float16; the columns are tokens held, of all requests together. The last one is"
        " where the cache becomes larger than the weights."
    )
    return Grid("KV memory of real models by tokens held", columns, rows, note)


def _explanations(summary: dict[str, Any]) -> list[str]:
    return [
        "Without a cache: every step is a whole pass over all tokens so far, in the same float32"
        " arithmetic. Only the last token's logits are computed, which favours it.",
        "The reference is float64 and shares only the weights. Fed the tokens that were generated"
        " it must choose each of them at its place; by induction that is what generating with it"
        " would give.",
        "A difference is a near tie when the reference prefers its own choice by less than the"
        " bound above; any other difference ends this study with an error.",
        "Work is counted while it runs, from the sizes of what is projected, stored and read.",
    ]
