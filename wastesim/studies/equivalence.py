"""`study: equivalence`: one prompt generated without a cache, with one, and in a batch.

The outputs must be the same, token for token.  Floating point may differ in the last bit when
products are summed in another order, so where a token does differ the float64 reference is asked:
if it prefers its own choice by less than `reference.NEAR_TIE` the two are called a near tie and
counted as one, and anything else ends the study with an error.  Nothing is compared loosely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wastesim.config.equivalence import Equivalence
from wastesim.decode.batch_run import decode_together, ragged
from wastesim.decode.generating import Generation, cached, uncached, unturned
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.models import decode_model, weights_of
from wastesim.decode.reference import NEAR_TIE, Verification, judge
from wastesim.errors import VerificationError
from wastesim.metrics import SCHEMA_VERSION
from wastesim.studies.equivalence_tables import (
    Speeds,
    growth,
    intensity_rows,
    measure_speeds,
    memory_rows,
)
from wastesim.studies.laboratory_checks import refuse
from wastesim.studies.passages import passage_read, passage_tokens

if TYPE_CHECKING:
    import pandas as pd

OTHERS = 5  # requests beside the one, in the ragged batch
_DRAWN = 31  # the prompt of a drawn model starts here, so that it differs from a passage's


@dataclass(frozen=True)
class EquivalenceResult:
    """Everything that was generated, counted and timed."""

    study: Equivalence
    model: DecodeModel
    runs: dict[str, Generation]  # "without", "with", "unturned"
    found: Verification
    smallest_gap: float
    batch_verified: Verification
    batch_equal: bool
    speeds: Speeds
    interrupted: bool = False

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` holds."""
        without, with_, unturned_ = (self.runs[n] for n in ("without", "with", "unturned"))
        intensity = intensity_rows(self.speeds, self.model, self.study)
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.study.name,
            "study": "equivalence",
            "interrupted": False,
            "model": self.model.name,
            "weights_bytes": 4 * self.model.weights,
            "passage": passage_read(self.study, self.model),
            "prompt_tokens": self.study.prompt_tokens,
            "new_tokens": self.study.new_tokens,
            "identical": {
                "with_and_without": without.tokens == with_.tokens,
                "keys_turned_late": unturned_.tokens == with_.tokens,
                "in_a_batch": self.batch_equal,
                "tokens_equal_to_reference": self.found.equal,
                "near_ties": self.found.near_ties,
                "smallest_gap": self.smallest_gap,
                "near_tie_below": NEAR_TIE,
                "batch_requests": OTHERS + 1,
                "batch_tokens_equal_to_reference": self.batch_verified.equal,
                "batch_tokens": self.batch_verified.tokens,
                "batch_near_ties": self.batch_verified.near_ties,
            },
            "work": {name: _work(run, self.model) for name, run in self.runs.items()},
            "growth": growth(self.runs, self.model, self.study.prompt_tokens),
            "speedup": _speedups(without, with_),
            "machine": self.speeds.machine(intensity),
            "intensity": intensity,
            "memory": memory_rows(self.study.models),
        }

    def table(self) -> pd.DataFrame:
        """What `summary.csv` holds: a row per step."""
        import pandas as pd

        rows: dict[str, list[float]] = {"step": list(range(1, self.study.new_tokens + 1))}
        for name, run in self.runs.items():
            rows[f"{name}_s"] = run.seconds
            rows[f"{name}_flop"] = [step.flop(self.model) for step in run.steps]
            rows[f"{name}_columns_computed"] = [step.columns_computed for step in run.steps]
            rows[f"{name}_columns_read"] = [step.columns_read for step in run.steps]
        return pd.DataFrame(rows)


def demonstrate(study: Equivalence, progress: Any = None) -> EquivalenceResult:
    """Generate, compare, count and time; VerificationError when tokens differ."""
    refuse(study)
    model = decode_model(study.model)
    weights = weights_of(model)
    text = passage_tokens(model, study.passage, study.tokens_read, study.seed)
    prompt, count = text[: study.prompt_tokens], study.new_tokens
    steps = _Steps(progress)
    runs = {
        "with": cached(weights, prompt, count, steps),
        "unturned": unturned(weights, prompt, count, steps),
        "without": uncached(weights, prompt, count, steps),
    }
    found, gap = judge(weights, prompt, runs["with"].tokens)
    _refuse("with a cache", found, runs["with"].tokens, runs["without"].tokens)
    _refuse("with keys turned late", found, runs["unturned"].tokens, runs["with"].tokens)
    prompts = [prompt, *ragged(text, OTHERS, study.prompt_tokens)]
    replies = decode_together(model, prompts, count)
    together = [judge(weights, one, reply)[0] for one, reply in zip(prompts, replies, strict=True)]
    verified = sum(together[1:], together[0])
    _refuse("in a batch", verified, replies[0], runs["with"].tokens)
    speeds = measure_speeds(model, text, study)
    equal = list(replies[0]) == runs["with"].tokens
    return EquivalenceResult(study, model, runs, found, gap, verified, equal, speeds)


class _Steps:
    """Counts steps of all generations."""

    def __init__(self, progress: Any) -> None:
        self._progress, self._done = progress, 0

    def __call__(self) -> None:
        """One more; KeyboardInterrupt when asked to stop: half a comparison is none."""
        self._done += 1
        if self._progress is not None:
            self._progress.told("a step", self._done)
            if self._progress.should_stop():
                raise KeyboardInterrupt


def _refuse(what: str, found: Verification, tokens: Sequence[int], others: Sequence[int]) -> None:
    """Differences are an error unless every one is a near tie of the reference."""
    if found.mismatches:
        raise VerificationError(
            f"{what}, {found.mismatches} of {found.tokens} tokens differ from the uncached float64"
            " reference by more than a near tie"
        )
    if list(tokens) != list(others) and not found.near_ties:
        at = next(i for i, (a, b) in enumerate(zip(tokens, others, strict=True)) if a != b)
        raise VerificationError(f"{what}, token {at + 1} of {len(tokens)} differs")


def _work(run: Generation, model: DecodeModel) -> dict[str, Any]:
    total = run.work
    return {
        **vars(total),
        "flop": total.flop(model),
        "bytes": total.bytes(model),
        "seconds": sum(run.seconds),
        "flop_by_step": [step.flop(model) for step in run.steps],
        "columns_computed_by_step": [step.columns_computed for step in run.steps],
        "columns_read_by_step": [step.columns_read for step in run.steps],
        "seconds_by_step": [round(s, 6) for s in run.seconds],
    }


def _speedups(without: Generation, with_: Generation) -> list[dict[str, float]]:
    """How much sooner the first n new tokens are there, measured."""
    count = len(with_.tokens)
    marks = sorted({n for n in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if n <= count} | {count})
    return [
        {
            "new_tokens": n,
            "without_s": sum(without.seconds[:n]),
            "with_s": sum(with_.seconds[:n]),
            "times": sum(without.seconds[:n]) / sum(with_.seconds[:n]),
        }
        for n in marks
    ]
