"""Make the joint table of a trace, so that anybody can rebuild a shipped workload.

Bins of prompts are cut at quantiles of the prompt, by value: equal prompts share a bin.  Within
a bin, and for the prompts, quantiles put the i-th of n sorted values at level (i - 1/2) / n:
linear interpolation between such quantiles has exactly the mean of the values, which
the usual definition does not have for heavy tails.  The top of a bin is resolved more finely,
because a hundred points inflate the mean of a heavy tail.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from wastesim.config.lengths import Joint, Provenance, WorkloadFile
from wastesim.config.yaml_reader import dump_yaml
from wastesim.workload.facts import facts_of
from wastesim.workload.joint import SHARES, JointTable
from wastesim.workload.pairs import MOST_TOKENS, Floats, Ints
from wastesim.workload.traces import read_trace

_PROMPT_LEVELS = np.arange(1001) / 1000
_OUTPUT_LEVELS = np.concatenate([np.arange(0, 970, 10), np.arange(970, 1001, 2)]) / 1000


def make_table(
    prompt: Ints, output: Ints, max_total: int | None = None, bins: int = 32
) -> JointTable:
    """The table of pairs in tokens; pairs beyond `max_total` must have been taken out before.

    ValueError when a pair exceeds `max_total` or there is no pair.
    """
    if not len(prompt) or (max_total is not None and (prompt + output).max() > max_total):
        raise ValueError(f"pairs must exist and have at most {max_total} tokens each")
    cuts = np.quantile(prompt, np.arange(1, bins + 1) / bins, method="higher")
    edges = np.unique(cuts).astype(np.int64)
    row = np.searchsorted(edges, prompt, side="left")
    values = _values(prompt, output, max_total)
    outputs = [_quantiles(values[row == index], _OUTPUT_LEVELS) for index in range(len(edges))]
    return JointTable(
        prompt_levels=_PROMPT_LEVELS,
        prompt=_quantiles(prompt, _PROMPT_LEVELS),
        edges=edges,
        output_levels=_OUTPUT_LEVELS,
        outputs=np.array(outputs),
        max_total=max_total,
    )


def write_table(table: JointTable, path: Path) -> None:
    """Write a table as `joint.read_table` reads it."""
    at_level = dict(zip(table.output_levels.tolist(), table.outputs.T.tolist(), strict=True))
    blank = [""] * len(table.edges)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["permille", "prompt", *(f"<={edge}" for edge in table.edges)])
        for level, prompt in zip(table.prompt_levels.tolist(), table.prompt.tolist(), strict=True):
            outputs = [f"{value:g}" for value in at_level.get(level, [])]
            writer.writerow([f"{level * 1000:g}", f"{prompt:g}", *(outputs or blank)])


def _values(prompt: Ints, output: Ints, max_total: int | None) -> Floats:
    """What a table's output columns hold: tokens, or shares of the room."""
    if max_total is None:
        return output.astype(np.float64)
    return (output - 1) / np.maximum(max_total - prompt - 1, 1) * SHARES


def _quantiles(values: Ints | Floats, levels: Floats) -> Floats:
    return np.rint(np.quantile(values, levels, method="hazen"))


def write_workload(
    trace: Path,
    target: Path,
    *,
    title: str,
    source: str,
    licence: str,
    max_total: int | None = None,
    bins: int = 32,
) -> None:
    """Make `target` (a workload file) and the table beside it from the usable rows of `trace`.

    With `max_total`, pairs with more tokens are left out first; the file says how many were.
    """
    rows = read_trace(trace, arrivals=False)
    prompt, output = rows.prompt.astype(np.int64), rows.output.astype(np.int64)
    kept = prompt + output <= (max_total or 2 * MOST_TOKENS)
    table = make_table(prompt[kept], output[kept], max_total, bins)
    write_table(table, target.with_suffix(".csv"))
    made = f"{len(table.edges)} bins of prompts, from {kept.sum():,} of {rows.rows:,} rows"
    if max_total is not None:
        made += f" (those with prompt + output <= {max_total:,})"
    lengths = Joint(table=target.with_suffix(".csv").name, max_total=max_total)
    provenance = Provenance(
        source=source, licence=licence, made=f"wastesim.workload.tables: {made}"
    )
    facts = facts_of(prompt[kept], output[kept])
    file = WorkloadFile(title=title, lengths=lengths, provenance=provenance, facts=facts)
    write_yaml(file, target)


def write_yaml(file: WorkloadFile, target: Path) -> None:
    """Write a workload file, and the folder it is in."""
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = [line.rstrip() for line in dump_yaml(file.to_tree()).splitlines()]
    target.write_text("\n".join([*lines, ""]), encoding="utf-8")
