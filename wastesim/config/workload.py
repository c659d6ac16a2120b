"""`workload:` of an experiment: requests, and what becomes of those that are too long."""

from __future__ import annotations

from typing import Literal

from wastesim.config.arrivals import WorkloadSpec

TooLong = Literal["reject", "truncate", "error"]


def too_long_rule(stated: TooLong | None, scheduler: str) -> TooLong:
    """The rule in force: what was stated, else what the scheduler does."""
    return stated or ("truncate" if scheduler == "vllm" else "reject")


class Workload(WorkloadSpec):
    """Where requests come from, when, and the rule for P + O > `max_model_len`.

    `reject` refuses the request, `truncate` serves it and cuts its output at the limit, `error`
    ends the run.  None is what the scheduler does: `vllm` truncates, `orca` and `static` reject.
    """

    too_long: TooLong | None = None
