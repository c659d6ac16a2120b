"""Experiments as values: frozen, read back from what is saved, and named by a digest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from wastesim import Experiment, load_experiment
from wastesim.config import dump_yaml
from wastesim.config.yaml_reader import parse_yaml
from wastesim.errors import ConfigError

GOOD: dict[str, Any] = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 20},
    "server": {"max_model_len": 2048},
}

positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)
shares = st.floats(0, 1, exclude_min=True)
counts = st.integers(1, 10**12)
tokens = st.integers(1, 2**24) | st.sampled_from(["8k", "8Ki", "1M", "2,048"])
sizes = st.builds("{} {}".format, st.integers(0, 10**6), st.sampled_from(["GiB", "GB", "B", "MiB"]))
names = st.text("abcdefg-._ ö", min_size=1, max_size=20).filter(lambda s: s.strip(" .") == s)


def maybe(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


@st.composite
def geometries(draw: st.DrawFn) -> dict[str, Any]:
    kv_heads, group = draw(st.integers(1, 64)), draw(st.integers(1, 16))
    sizes_of = {key: draw(st.integers(1, 10**5)) for key in ("layers", "hidden", "head_dim")}
    heads = {"kv_heads": kv_heads, "q_heads": kv_heads * group}
    more = draw(maybe(vocab=counts, tied_embeddings=st.booleans(), weights=sizes_above_zero))
    return {**sizes_of, **heads, "params": draw(counts), **more}


sizes_above_zero = st.builds("{} kB".format, st.integers(1, 10**9))
gpus = st.fixed_dictionaries(
    {
        "memory": sizes_above_zero,
        "bandwidth": st.builds("{!r} GB/s".format, st.floats(1e-3, 1e9)),
        "flops": st.builds("{!r} TFLOP/s".format, st.floats(1e-3, 1e9)),
    }
)
experiments = st.builds(
    lambda required, more: {**required, **more},
    st.fixed_dictionaries(
        {
            "model": st.just("llama-3-8b") | geometries(),
            "gpu": st.just("a100-sxm-40gb") | gpus,
            "workload": st.builds(
                lambda must, may: {**must, **may},
                st.fixed_dictionaries({"lengths": st.just("sharegpt"), "num_requests": counts}),
                maybe(
                    request_rate=positive | st.just("inf") | st.integers(1, 1000),
                    burstiness=positive,
                    too_long=st.sampled_from(["reject", "truncate", "error"]),
                ),
            ),
            "server": st.builds(
                lambda must, may: {"max_model_len": must, **may},
                tokens,
                maybe(
                    gpu_memory_utilization=shares,
                    overhead=sizes,
                    kv_cache_memory_bytes=st.integers(0, 10**15) | sizes,
                    kv_cache_dtype=st.sampled_from(["float16", "bf16", "fp8", "auto", "int8"]),
                    max_num_seqs=counts,
                ),
            ),
        }
    ),
    maybe(
        name=names,
        seed=st.integers(0, 2**128),
        decode=maybe(model=st.sampled_from(["tiny", "small"]), verify=st.booleans()),
        clock=st.sampled_from([{"kind": "roofline"}, {"kind": "measured"}])
        | st.builds(lambda step: {"kind": "fixed", "step_s": step}, positive | st.just("20 ms")),
        output=maybe(records=st.sampled_from(["full", "none"]), figures=st.booleans()),
    ),
)


@given(experiments)
@settings(max_examples=60, deadline=None)
def test_the_saved_experiment_reads_back_as_an_equal_one(tree: dict[str, Any]) -> None:
    experiment = load_experiment(tree)
    text = dump_yaml(experiment.to_tree())
    again = load_experiment(parse_yaml(text, "resolved.yaml", Path()).tree)
    assert again == experiment
    assert again.digest == experiment.digest
    assert dump_yaml(again.to_tree()) == text


def test_the_saved_experiment_reads_back_from_its_file(tmp_path: Path) -> None:
    experiment = load_experiment(GOOD, ["workload.request_rate=inf", "name=mine"])
    path = tmp_path / "resolved.yaml"
    path.write_text(dump_yaml(experiment.to_tree()))
    assert load_experiment(path) == experiment


CHANGES = [
    "name=other", "seed=1", "model=opt-13b", "gpu=l4-24gb",
    "workload.lengths={prompt: 5, output: 6}",
    "workload.num_requests=21", "workload.request_rate=3", "workload.burstiness=2",
    "workload.too_long=truncate", "server.max_model_len=2049",
    "server.gpu_memory_utilization=0.91", "server.overhead=1 GiB",
    "server.kv_cache_memory_bytes=1000000000", "server.kv_cache_dtype=fp8", "server.max_num_seqs=7",
    "server.max_num_batched_tokens=999999", "decode.engine=none", "decode.model=small",
    "decode.verify=true", "decode.count_every=3", "clock={kind: fixed, step_s: 1}",
    "clock.overhead_s=0.001", "clock.bandwidth_efficiency=0.5", "clock.flops_efficiency=0.5",
    "output.records=none", "output.figures=false",
]  # fmt: skip


def test_the_digest_changes_with_every_key() -> None:
    base = load_experiment(GOOD, ["clock.kind=roofline"])
    digests = [load_experiment(GOOD, ["clock.kind=roofline", change]).digest for change in CHANGES]
    assert len({base.digest, *digests}) == len(CHANGES) + 1
    assert all(len(digest) == 8 and int(digest, 16) >= 0 for digest in digests)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("server.max_model_len=8Ki", "server.max_model_len=8192"),
        ("server.overhead=2 GiB", "server.overhead=2147483648 B"),
        ("server.kv_cache_dtype=half", "server.kv_cache_dtype=float16"),
        ("workload.request_rate=inf", "workload.request_rate=.inf"),
        ("seed=1e3", "seed=1000"),
        ("seed=0", "study=allocation"),
    ],
)
def test_what_is_only_written_differently_has_the_same_digest(one: str, other: str) -> None:
    assert load_experiment(GOOD, [one]).digest == load_experiment(GOOD, [other]).digest


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_digest_is_the_same_in_every_process(hash_seed: str) -> None:
    code = f"from wastesim import load_experiment as load; print(load({GOOD!r}).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == load_experiment(GOOD).digest


def test_experiments_are_frozen_all_the_way_down() -> None:
    experiment = load_experiment(GOOD)
    for part in (experiment, experiment.server, experiment.workload, experiment.clock):
        key = next(iter(type(part).model_fields))
        with pytest.raises(ValidationError, match="frozen"):
            setattr(part, key, getattr(part, key))


def test_experiments_are_equal_when_they_say_the_same() -> None:
    one = load_experiment(GOOD)
    assert one == load_experiment(GOOD)
    assert one != load_experiment(GOOD, ["seed=1"])


def test_an_experiment_is_checked_in_python_as_in_files() -> None:
    with pytest.raises(ValidationError, match=r"'clock\.kind' must be roofline or fixed"):
        Experiment.model_validate(
            GOOD | {"decode": {"engine": "none"}, "clock": {"kind": "measured"}}
        )


def test_windows_are_accounted_and_never_decoded() -> None:
    """The transformer attends to every token: what a window gave back would be read."""
    tree = {
        "model": "llama-3-8b",
        "gpu": "a100-sxm-40gb",
        "workload": {"lengths": "sharegpt", "num_requests": 1},
        "server": {"policy": "paged", "max_model_len": 64, "kv_groups": [None, 16]},
    }
    with pytest.raises(ConfigError, match=r"'server.kv_groups' with windows .* 'decode.engine'"):
        load_experiment(tree)
    load_experiment({**tree, "decode": {"engine": "none"}})
