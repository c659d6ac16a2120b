"""Everything a report says, gathered once; HTML and Markdown only set it.

The order is the reader's: the answer, pictures, tables, explanations, how the counts agree,
how to reproduce it, what to change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from wastesim.metrics import flat
from wastesim.records import Records
from wastesim.report.advice import advise
from wastesim.report.answer import Answer, answer, reserved_shares
from wastesim.report.counts import agreement
from wastesim.report.definitions import GROUPS, Group, others
from wastesim.report.remedy import METHOD, Line, first_change, lines
from wastesim.report.resolved import element_bytes, too_long
from wastesim.report.sureness import Sureness, interval_rows, sureness
from wastesim.report.text import DASH, count, percent


class Row(NamedTuple):
    """One line of a table."""

    label: str
    value: str
    meaning: str


class Table(NamedTuple):
    """A titled table of numbers with their meanings."""

    title: str
    rows: list[Row]


class Share(NamedTuple):
    """One part of what was reserved."""

    name: str
    part: float
    value: str


@dataclass(frozen=True)
class Content:
    """A report, before it is set."""

    name: str
    setting: str
    answer: Answer
    sureness: Sureness
    first_change: str
    reserved: list[Share]
    tables: list[Table]
    explanations: list[str]
    workload: list[str]
    agreement: list[str]
    resolved: str
    command: str
    provenance: list[Row]
    changes: list[Line]
    method: str = METHOD


def gather(
    records: Records, summary: dict[str, Any], resolved: str, provenance: dict[str, Any]
) -> Content:
    """Everything the report says of this run."""
    facts = records.facts
    advice = advise(records, element_bytes(resolved), too_long(resolved))
    return Content(
        name=facts.name,
        setting=setting(records),
        answer=answer(records, summary),
        sureness=sureness(summary),
        first_change=first_change(advice, summary),
        reserved=_reserved(records),
        tables=tables(summary),
        explanations=list(facts.explanations),
        workload=_workload(facts.workload),
        agreement=agreement(summary["counted"]),
        resolved=resolved.rstrip("\n"),
        command=str(provenance.get("command") or ""),
        provenance=_provenance(provenance),
        changes=lines(advice),
    )


def setting(records: Records) -> str:
    """What was simulated, in one line."""
    facts = records.facts
    decoded = (
        f"decoded for real by `{facts.executed_model}` in NumPy"
        if facts.executed_model
        else "accounted only, decode off"
    )
    return (
        f"{facts.model} on {facts.gpu}, policy {facts.policy}, {facts.scheduler} scheduler,"
        f" max_model_len {count(facts.max_model_len)}, max_num_seqs {count(facts.max_num_seqs)},"
        f" {facts.clock} clock, {decoded}"
    )


def tables(summary: dict[str, Any]) -> list[Table]:
    """All numbers of the summary with their definitions, then the requests' reasons."""
    values = flat(summary)
    filled = [_filled(group, values) for group in (*GROUPS, others(values))]
    reasons = _reasons(summary["requests"]["reasons"])
    every = [_intervals(summary), *filled, reasons]
    return [table for table in every if table.rows]


def _filled(group: Group, values: dict[str, Any]) -> Table:
    rows: list[Row] = []
    told = ""
    for line in group.lines:
        meaning = "" if line.meaning == told else line.meaning
        rows.append(Row(line.label, line.show(values.get(line.key)), meaning))
        told = line.meaning
    undefined = all(row.value == DASH for row in rows)
    return Table(group.title, [] if undefined else rows)


def _intervals(summary: dict[str, Any]) -> Table:
    rows = [Row(*row) for row in interval_rows(summary)]
    return Table("Steady part: estimates and their intervals", rows)


def _reserved(records: Records) -> list[Share]:
    shares = reserved_shares(records) or {}
    return [Share(name, part, percent(part)) for name, part in shares.items() if part]


def _reasons(reasons: dict[str, dict[str, int]]) -> Table:
    rows = [
        Row(status, count(number), why)
        for status, by_reason in reasons.items()
        for why, number in by_reason.items()
    ]
    return Table("Why requests were refused or not finished", rows)


def _workload(workload: dict[str, Any]) -> list[str]:
    lines = [workload["description"]] if workload.get("description") else []
    lines += [f"{what}: {count(number)}" for what, number in workload.get("counts", {}).items()]
    return lines + list(workload.get("notes", []))


def _provenance(provenance: dict[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for key, value in provenance.items():
        if key in ("command", "interrupted"):  # told elsewhere
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {what}" for name, what in value.items())
        rows.append(Row(key.replace("_", " "), DASH if value is None else str(value), ""))
    return rows
