"""Step by step against vLLM's own scheduler.

Each case is a folder with `config.json` and `trace.csv` (in), `steps.csv` and `requests.csv` (what
vLLM 0.33 did).  `WASTESIM_VLLM_CASES=DIR` checks further cases of the same form; a few small ones
are carried in `tests/golden/vllm`.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim import Result, load_experiment, simulate

GOLDEN = Path(__file__).parents[1] / "golden" / "vllm"
DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "vllm"
CASES = Path(os.environ.get("WASTESIM_VLLM_CASES", DEFAULT))

MODEL = {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000}
GPU = {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"}
#: Options of a case that the experiment has under the same name.
SAME_NAME = (
    "block_size",
    "enable_chunked_prefill",
    "long_prefill_token_threshold",
    "watermark",
    "scheduler_reserve_full_isl",
    "async_scheduling",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_model_len",
)
STEP_COLUMNS = (
    "num_running",
    "num_waiting",
    "used_blocks",
    "free_blocks",
    "tokens_stored",
    "preemptions_total",
    "scheduled_prefill_tokens",
    "scheduled_decode_tokens",
    "num_scheduled_reqs",
    "admitted",
    "preempted",
    "finished",
    "used_blocks_end",
)


def folders() -> list[Path]:
    """The carried cases, and those beside the checkout where there are any."""
    found = [path.parent for root in (GOLDEN, CASES) for path in sorted(root.glob("*/config.json"))]
    return list({folder.name: folder for folder in found}.values())


@pytest.fixture(scope="module", params=folders(), ids=lambda folder: folder.name)
def case(request: pytest.FixtureRequest, tmp_path_factory: Any) -> tuple[Path, dict, Result]:
    """One case's folder, its configuration, and our run of it; one step is one second."""
    folder: Path = request.param
    config = json.loads((folder / "config.json").read_text())
    trace = tmp_path_factory.mktemp(folder.name) / "trace.csv"
    write_trace(folder / "trace.csv", trace)
    server = {name: config[name] for name in SAME_NAME if name in config}
    experiment = load_experiment(
        {
            "model": MODEL,
            "gpu": GPU,
            "workload": {"trace": str(trace)},
            "server": {
                **server,
                "policy": "paged",
                "scheduler": "vllm",
                "num_gpu_blocks_override": config["num_gpu_blocks"],
                "kv_groups": config.get("kv_groups") or [None],
                "refuse_impossible": False,
            },
            "decode": {"engine": "none"},
            "clock": {"kind": "fixed", "step_s": 1},
        }
    )
    return folder, config, simulate(experiment)


def write_trace(source: Path, target: Path) -> None:
    """Our replay counts from the first arrival: every case has its first at a known step."""
    rows = read(source)
    lines = [f"{r['arrival_step']},{r['prompt_tokens']},{r['output_tokens']}" for r in rows]
    target.write_text("arrival_time_s,prompt_tokens,output_tokens\n" + "\n".join(lines) + "\n")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def first_step(folder: Path) -> int:
    return min(int(row["arrival_step"]) for row in read(folder / "trace.csv"))


def our_steps(result: Result, block_size: int, offset: int, length: int) -> list[tuple[int, ...]]:
    """Rows as vLLM's log has them: a row of zeros for each step with nothing unfinished."""
    ticks = result.records.ticks
    usable = result.records.facts.capacity_cells // block_size
    reserved = sum(ticks[name] for name in ("written", "future", "unused", "padding"))
    preemptions = np.cumsum(ticks["preempted"])
    empty = [0] * len(STEP_COLUMNS)
    empty[STEP_COLUMNS.index("free_blocks")] = usable
    rows: list[tuple[int, ...]] = [tuple(empty)] * offset
    for k in range(len(ticks["t_s"])):
        if not (ticks["running"][k] or ticks["waiting"][k]):
            empty[STEP_COLUMNS.index("preemptions_total")] = int(preemptions[k])
            rows += [tuple(empty)] * round(ticks["dt_s"][k])
            continue
        row = (
            ticks["running"][k],
            ticks["waiting"][k],
            reserved[k] // block_size,
            usable - reserved[k] // block_size,
            ticks["stored_tokens"][k],
            preemptions[k],
            ticks["prefill_tokens"][k],
            ticks["decode_tokens"][k],
            ticks["scheduled"][k],
            ticks["admitted"][k],
            ticks["preempted"][k],
            ticks["finished"][k],
            ticks["reserved_end"][k] // block_size,
        )
        rows.append(tuple(int(value) for value in row))
    return rows[:length]


def test_every_step_is_equal(case) -> None:
    folder, config, result = case
    theirs = [tuple(int(row[name]) for name in STEP_COLUMNS) for row in read(folder / "steps.csv")]
    ours = our_steps(result, config["block_size"], first_step(folder), len(theirs))
    for step, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        assert dict(zip(STEP_COLUMNS, our, strict=True)) == dict(
            zip(STEP_COLUMNS, their, strict=True)
        ), f"step {step}"
    assert len(ours) == len(theirs)


def test_every_request_is_equal(case) -> None:
    folder, _, result = case
    rows, offset = result.records.requests, first_step(folder)
    # Ours are numbered in order of arrival, ties in the order of the trace.
    theirs = sorted(read(folder / "requests.csv"), key=lambda row: int(row["arrival_step"]))
    assert len(theirs) == len(rows["status"])
    for k, their in enumerate(theirs):
        status = {"completed": "finished"}.get(rows["status"][k], rows["status"][k])
        scheduled = int(rows["scheduled_tokens"][k])
        generated = int(rows["generated_tokens"][k])
        kept = int(rows["prompt_tokens"][k]) + generated - 1
        ours = {
            "prompt_tokens": int(rows["prompt_tokens"][k]),
            "generated": generated,
            "admitted_step": step_of(rows["admitted_s"][k], offset),
            "first_token_step": step_of(rows["first_token_s"][k], offset - 1),
            "finish_step": step_of(rows["finished_s"][k], offset - 1),
            "num_preemptions": int(rows["preemptions"][k]),
            "scheduled_tokens": scheduled,
            "recomputed_tokens": scheduled - kept if status == "finished" else 0,
        }
        assert status == their["status"], their["request_id"]
        assert ours == {name: int(their[name]) for name in ours}, their["request_id"]


def step_of(time_s: float, offset: int) -> int:
    """The step that began at `time_s`; -1 for what never happened."""
    return -1 if np.isnan(time_s) else round(time_s) + offset
