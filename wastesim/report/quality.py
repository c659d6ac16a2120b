"""What a quality study found, in words: the cheapest cache that is good enough, and what breaks."""

from __future__ import annotations

from typing import Any

from wastesim.report.laboratory import Grid, Words, tokens_of
from wastesim.report.text import bytes_, count, percent

#: A cache costs "less than 1 %" when the whole interval of its change lies below this.
GOOD_ENOUGH = 0.01
#: A window "breaks the model" when the whole interval of its change lies above this.
BROKEN = 0.1
FULL = "float32"
PLAIN = ("float16", "fp8_e4m3", "int8", "int4_sym, groups of 32", "int4_asym, groups of 32")


def words(summary: dict[str, Any]) -> Words:
    """Everything the report of this study says."""
    claim, evidence = _answer(summary)
    return Words(
        claim=claim,
        evidence=evidence,
        setting=(
            f"{summary['model']}, {count(summary['tokens'])} {tokens_of(summary)},"
            " each read given those before it"
        ),
        paragraphs=[say for make in (_integers, _recent, _sinks) if (say := make(summary))],
        grids=[_grid(summary)],
        explanations=_explanations(summary),
        state=_state(summary),
    )


def _state(summary: dict[str, Any]) -> str:
    missing, overflowed = summary["missing"], summary["overflowed"]
    said = [f"This study was stopped; not measured: {', '.join(missing)}."] if missing else []
    if overflowed:
        said.append(f"Keys or values are too large for {', '.join(overflowed)}: left out.")
    return " ".join(said)


def change(value: float) -> str:
    """`+0.24 %`, `-0.04 %`."""
    text = f"{100 * value:+.2f}" if abs(value) < 0.1 else f"{100 * value:+.1f}"
    return "0.00 %" if float(text) == 0 else f"{text} %"


def interval(row: dict[str, Any]) -> str:
    """`+0.14 to +0.35 %`."""
    low, high = change(row["change_low"]), change(row["change_high"])
    return f"{low.removesuffix(' %')} to {high}"


def whole_caches(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of caches that keep every token."""
    return [row for row in summary["cells"] if row["window"] is None]


def windows(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of caches that keep the newest tokens."""
    return [row for row in summary["cells"] if row["window"] is not None]


def good_enough(row: dict[str, Any]) -> bool:
    """Whether a cache surely costs little: its whole interval says so."""
    return bool(row["change_high"] < GOOD_ENOUGH)


def _answer(summary: dict[str, Any]) -> tuple[str, str]:
    base, *others = summary["cells"]
    good = [row for row in others if good_enough(row)]
    if not good:
        return (
            f"No cache measured here surely costs less than {percent(GOOD_ENOUGH)} in perplexity",
            f"no 95 % interval lies wholly below that; full precision has {base['perplexity']:.2f}",
        )
    best = min(good, key=lambda row: row["bytes_per_token"])
    times = base["bytes_per_token"] / best["bytes_per_token"]
    return (
        f"The smallest cache that costs less than {percent(GOOD_ENOUGH)} in perplexity is"
        f" {best['cache']}, {times:.1f} times smaller than float32",
        f"perplexity {best['perplexity']:.2f} against {base['perplexity']:.2f}"
        f" ({change(best['change'])}, 95 % interval {interval(best)}),"
        f" {bytes_(best['bytes_per_token'])} per token against {bytes_(base['bytes_per_token'])}",
    )


def _integers(summary: dict[str, Any]) -> str:
    rows = {row["cache"]: row for row in summary["cells"]}
    told = [f"{name} {change(row['change'])}" for name, row in rows.items() if name in PLAIN]
    return f"Stored as it is, each format costs: {', '.join(told)}." if told else ""


def _recent(summary: dict[str, Any]) -> str:
    kept = [row for row in whole_caches(summary) if "newest" in row["cache"]]
    if not kept:
        return ""
    best = min(kept, key=lambda row: row["change"])
    plain = best["cache"].split(", newest")[0]
    flat = next((row for row in summary["cells"] if row["cache"] == plain), None)
    if flat is None:
        return ""
    newest = best["cache"].split("newest ")[1]
    costs = f"{change(flat['change'])}, and {change(best['change'])} with the newest {newest}"
    if flat["change"] > 0 and best["change"] < flat["change"] / 2:
        return f"Most of what {plain} loses is lost on the newest tokens: it costs {costs}."
    return f"{plain} costs {costs}."


def _sinks(summary: dict[str, Any]) -> str:
    pairs = [
        (alone, with_)
        for alone in windows(summary)
        for with_ in windows(summary)
        if alone["window"] == with_["window"] and not alone["sinks"] and with_["sinks"]
        and with_["positions"] == "original" and with_["dtype"] == FULL
    ]  # fmt: skip
    if not pairs:
        return ""
    lost = sum(alone["change_low"] > BROKEN for alone, _ in pairs)
    told = "; ".join(
        f"{count(a['window'])} tokens {change(a['change'])}, with {s['sinks']} first tokens kept"
        f" {change(s['change'])}"
        for a, s in pairs
    )
    mass = _mass(summary)
    why = (
        f" Those first tokens draw {percent(mass)} of all attention (mean over layers and heads)"
        f"{_WHY if lost else '.'}"
        if mass is not None
        else ""
    )
    return f"{_LETTING_GO[(lost > 0) + (lost == len(pairs))]}: {told}.{why}"


_WHY = (
    ": heads that have nothing to look at look there, and without them that share lands on"
    " tokens that mean something."
)
#: When no window breaks the model, some do, all do.
_LETTING_GO = (
    "Letting the first tokens go does not break the model here",
    "Some windows that let the first tokens go break the model",
    "A window that lets the first tokens go breaks the model",
)


def _mass(summary: dict[str, Any]) -> float | None:
    layers = summary["sink_mass"].get("layers")
    return sum(map(sum, layers)) / len(layers) if layers else None


def _grid(summary: dict[str, Any]) -> Grid:
    columns = ["cache", "perplexity", "change", "95 % interval", "same top", "B per token",
               "per number", "held"]  # fmt: skip
    rows = [
        [
            row["cache"],
            f"{row['perplexity']:.3f}",
            change(row["change"]),
            interval(row),
            percent(row["top_agreement"]),
            count(round(row["bytes_per_token"])),
            f"{row['bytes_per_element']:.3f}",
            count(row["held_tokens"]),
        ]
        for row in summary["cells"]
    ]
    return Grid("Every cache, on the same tokens", columns, rows, _NOTE)


_NOTE = (
    "Change: of the perplexity against float32, from differences in negative log-likelihood token"
    " by token. Same top: share of positions at which the likeliest token is the one of"
    " float32. B per token: bytes of all layers and heads after the last token, scales, zero points"
    " and exact newest tokens included, over the tokens read; per number: of keys and values. Held:"
    " tokens at the end, the others were freed."
)


def _explanations(summary: dict[str, Any]) -> list[str]:
    return [
        "Every key and value goes through its format once and is read back by all tokens that look"
        " at it, the token itself included, as in a decode that stores before it reads.",
        f"A cache counts as costing less than {percent(GOOD_ENOUGH)} when the whole 95 % interval"
        f" of its change lies below that, and a window as breaking the model when all of it lies"
        f" above {percent(BROKEN)}.",
        f"Intervals: {count(summary['block_tokens'])} neighbouring tokens are drawn together, 2,000"
        " times. They speak of this model and of texts like this one.",
        "A window of W tokens includes its sinks. Renumbered: positions are those inside the"
        " window (StreamingLLM); without sinks that changes nothing, because RoPE is relative.",
        "Newest tokens in float32 are counted once, instead of their packed form. In the main job's"
        " arena they are held beside their packed cells, so that written cells stay countable.",
        "What falls out of a window is freed at once: the bytes are those of the window alone.",
    ]
