"""`search:`: bisection for the last value that meets a condition, golden section for the best.

A probe is a value of the key, run with the same seeds as every other probe.  Where a probe's
interval still holds the bound it is repeated, up to `most_replications`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wastesim.config import Experiment
from wastesim.config.search import Search
from wastesim.errors import ConfigError
from wastesim.report.sweep_words import key, metric
from wastesim.report.sweep_words import value as said
from wastesim.statistics import Interval
from wastesim.sweep.axes import Axis, axis_of
from wastesim.sweep.found import Found, Probe, level_of
from wastesim.sweep.golden import best_of
from wastesim.sweep.numbers import number
from wastesim.sweep.plan import Cell, Plan, label, task
from wastesim.sweep.results import interval
from wastesim.sweep.runner import Runner
from wastesim.sweep.store import Store


def search(experiment: Experiment, runner: Runner, store: Store) -> Found:
    """Look for the answer; what is known is kept when it is stopped."""
    wanted = experiment.search
    if wanted is None:
        raise ConfigError("the experiment has no 'search'")
    seeker = Seeker(experiment, wanted, runner, store)
    if wanted.find == "best":
        seeker.find_best()
    else:
        seeker.bisect()
    return seeker.found


class Seeker:
    """One search while it goes on."""

    def __init__(
        self, experiment: Experiment, wanted: Search, runner: Runner, store: Store
    ) -> None:
        self._tree = experiment.to_tree()
        self._level = level_of(experiment)
        self._search = wanted
        self._runner = runner
        self._store = store
        self._axis = axis_of(wanted)
        self._key, self._metric = key(wanted.key), metric(wanted.metric).label
        self.found = Found(wanted)

    def bisect(self) -> None:
        """Between an end where the condition holds and one where it does not."""
        axis, upward = self._axis, self._search.find == "largest"
        good, bad = (axis.low, axis.high) if upward else (axis.high, axis.low)
        far = self._probe(bad)
        if far is None or self._ended(far.meets, bad):
            return
        near = self._probe(good)
        if near is None or self._nowhere(near, good):
            return
        while len(self.found.probes) < self._search.most_probes:
            middle = axis.middle(good, bad)
            if middle is None:
                break
            probe = self._probe(middle)
            if probe is None:
                return
            good, bad = (middle, bad) if probe.meets else (good, middle)
        if axis.middle(good, bad) is None:
            self._answer(good, f"it does not hold at {said(axis.value(bad))}")
        else:
            self._give_up(good, bad)

    def find_best(self) -> None:
        """The summit, and which values cannot be told from it."""
        sign = -1.0 if self._search.minimize else 1.0

        def height(place: float) -> Mapping[int, float] | None:
            probe = self._probe(place)
            return None if probe is None else {r: sign * v for r, v in probe.values.items()}

        best, ties = best_of(self._axis, height, self._level, self._search.most_probes)
        if best is None:
            self._nothing_to_compare()
            return
        names = [said(self._axis.value(tie)) for tie in sorted(ties)]
        alike = f"; {', '.join(names)} cannot be told from it" if names else ""
        self._answer(best, f"best of {len(self.found.probes)} values probed{alike}")
        self._doubt_best(best)

    def _nothing_to_compare(self) -> None:
        """Unless it was stopped, the metric is defined nowhere."""
        probes = self.found.probes
        if probes and not self._runner.stopped:
            self.found.sentence = (
                f"No value of {self._key} can be called the best: {self._metric} is"
                f" undefined at each of the {len(probes):,} that were probed."
            )

    def _doubt_best(self, best: float) -> None:
        """Where probes ran out before values beside the best had been looked at."""
        axis, most = self._axis, self._search.most_probes
        places = sorted(axis.place(probe.value) for probe in self.found.probes)
        low = max((at for at in places if at < best), default=best)
        high = min((at for at in places if at > best), default=best)
        unseen = any(axis.middle(*ends) is not None for ends in ((low, best), (best, high)))
        if len(places) >= most and unseen:
            between = [axis.value(low), axis.value(high)]
            self.found.answer, self.found.between = None, between
            self.found.sentence = (
                f"The search gave up after {most:,} probes (most_probes): the best"
                f" {self._key} lies between {said(between[0])} and {said(between[1])}, if"
                f" there is one summit. {self.found.sentence}"
            )

    def _give_up(self, good: float, bad: float) -> None:
        """Probes ran out: what is known is where the answer lies."""
        between = [self._axis.value(good), self._axis.value(bad)]
        most, find = self._search.most_probes, self._search.find
        self.found.between = sorted(between) if not self._axis.choices else between
        self.found.sentence = (
            f"The search gave up after {most:,} probes (most_probes): the {find} {self._key} lies"
            f" between {said(between[0])}, where the condition holds, and {said(between[1])},"
            " where it does not."
        )

    def _ended(self, holds: bool, place: float) -> bool:
        if holds:
            why = "the end of the range, where the condition still holds (nothing else was probed)"
            self._answer(place, why)
        return holds

    def _nowhere(self, near: Probe, place: float) -> bool:
        if not near.meets:
            value = said(self._axis.value(place))
            self.found.sentence = (
                f"No value of {self._key} will do, if the answer changes once on the way:"
                f" at {value}, where it should be easiest, {self._metric} is"
                f" {_told(near.found, self._search.metric)}. Only the ends were probed; values"
                " between them may do."
            )
        return not near.meets

    def _answer(self, place: float, why: str) -> None:
        value = self._axis.value(place)
        probe = next(probe for probe in self.found.probes if probe.value == value)
        goal = {"largest": "The largest", "smallest": "The smallest", "best": "The best"}
        doubt = (
            "" if probe.sure or self._search.find == "best" else " (its interval holds the bound)"
        )
        self.found.answer = value
        self.found.sentence = (
            f"{goal[self._search.find]} {self._key} is {said(value)}, with"
            f" {self._metric} {_told(probe.found, self._search.metric)}{doubt}: {why}."
        )

    def _probe(self, place: float) -> Probe | None:
        """Run the value there, more often while it cannot be told; None when it was stopped."""
        value = self._axis.value(place)
        known = next((probe for probe in self.found.probes if probe.value == value), None)
        if known is not None:
            return known
        count, most = self._search.replications, self._search.most_replications
        while True:
            probe = self._run(value, count)
            if probe is None or probe.sure or count >= most:
                break
            count = min(2 * count, most)
        if probe is not None:
            self.found.probes.append(probe)
        return probe

    def _run(self, value: Any, count: int) -> Probe | None:
        cell = Cell({self._search.key: value}, label({self._search.key: value}))
        tasks = [task(self._tree, cell, r, "words") for r in range(count)]
        self._runner.run(tasks)
        if self._runner.stopped:
            return None
        kept = [other for other in self.found.plan.tasks if other.cell.values != cell.values]
        self.found.plan = _plan([*kept, *tasks])
        done = {t.replication: self._store.done(t.digest) for t in tasks}
        return self._judge(value, {r: d["summary"] for r, d in done.items() if d}, count)

    def _judge(self, value: Any, summaries: Mapping[int, Any], runs: int) -> Probe:
        """A value at which runs fail meets nothing."""
        name, where = self._search.metric, self._search.where
        found = interval(summaries, name, self._level)
        values = {r: v for r, s in summaries.items() if (v := number(s, name)) is not None}
        if where is None:
            return Probe(value, found, values, True, True, runs)
        meets = found.estimate is not None and where.sign * (found.estimate - where.bound) >= 0
        known = found.estimate is None or found.low is not None
        sure = known and (not found.holds(where.bound) or found.low == found.high)
        return Probe(value, found, values, meets and len(summaries) == runs, sure, runs)


def _plan(tasks: Sequence[Any]) -> Plan:
    """The probes so far, by value."""
    same = {_identity(one.cell): one.cell for one in tasks}
    by_value = sorted(same.values(), key=lambda cell: _sort_key(next(iter(cell.values.values()))))
    own = tuple(replace(one, cell=same[_identity(one.cell)]) for one in tasks)
    return Plan(tuple(by_value), own)


def _identity(cell: Cell) -> str:
    return json.dumps(cell.values, sort_keys=True, default=str)


def _sort_key(value: Any) -> tuple[bool, float, str]:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return not plain, float(value) if plain else 0.0, str(value)


def _told(found: Interval, name: str) -> str:
    """`97.4 % (95.3 % to 99.4 %)`, in the unit of the number."""
    show = metric(name).show
    if found.estimate is None:
        return "undefined"
    if found.low is None or found.high is None or found.low == found.high:
        return show(found.estimate)
    return f"{show(found.estimate)} ({show(found.low)} to {show(found.high)})"


def told(experiment: Experiment) -> list[str]:
    """`--dry-run` of a search: what would be looked at first."""
    wanted = experiment.search
    if wanted is None:
        return []
    axis: Axis = axis_of(wanted)
    ends = f"{said(axis.value(axis.low))} to {said(axis.value(axis.high))}"
    most = f"at most {wanted.most_probes} probes of {wanted.replications}"
    return [
        f"{wanted.find} {wanted.key} from {ends}, by {wanted.metric}",
        f"{most} to {wanted.most_replications} runs each; how many depends on what they find",
    ]
