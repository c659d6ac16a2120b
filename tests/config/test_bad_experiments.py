"""What is said of experiments that cannot be understood, through the verb that reads them.

Every row is one mistake made in an experiment that is otherwise good, and the whole of what is
printed: exit code 2, each problem on its own line with its place, nothing written.  `…` stands
for lists that grow (policies, kinds) and for the folder the test runs in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from wastesim import run

GOOD = """\
study: allocation
seed: 0
model: llama-3-8b
gpu: a100-sxm-40gb
workload:
  lengths: sharegpt
  num_requests: 20
  request_rate: 40
server:
  max_model_len: 2048
  max_num_seqs: 8
decode: {engine: none, model: tiny}
clock: {kind: roofline}
output: {records: full, figures: false}
"""


class Bad(NamedTuple):
    """The mistake (what is replaced by what in `GOOD`) and all that is said of it."""

    old: str
    new: str
    said: str | Sequence[str]


SEQS, TOP = "max_num_seqs: 8", "study: allocation\n"
A_GPU = "gpu: {memory: 80 GiB, bandwidth: 3.3 TB/s, flops: 1000 TFLOP/s}"
A_MODEL = "model: {layers: 2, hidden: 64, q_heads: 4, kv_heads: 2, head_dim: 16, params: 1e6}"


def gpu(old: str, new: str, said: str | Sequence[str]) -> Bad:
    return Bad("gpu: a100-sxm-40gb", A_GPU.replace(old, new), said)


def model(old: str, new: str, said: str | Sequence[str]) -> Bad:
    return Bad("model: llama-3-8b", A_MODEL.replace(old, new), said)


def lengths(written: str, said: str | Sequence[str]) -> Bad:
    return Bad("lengths: sharegpt", f"lengths: {written}", said)


FOLDER_NAME = (
    "must be usable as the name of a folder: printable, without slashes or outer dots,"
    " at most 100 characters"
)
BYTE_UNITS = "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB"
A_RATE = "must be a number of requests per second, or inf (all at once)"

KEYS = [
    Bad(TOP, TOP + "serverr: {}\n", "2:1: 'serverr' is not a known key; did you mean 'server'?"),
    Bad(TOP, TOP + "zzz: 1\n", "2:1: 'zzz' is not a known key; known here: …"),
    Bad("max_num_seqs", "max_num_seq", "11:3: 'server.max_num_seq' is not a known key; did you"
        " mean 'max_num_seqs'?"),
    Bad("kind: roofline", "kind: fixed, step_s: 1, overhead_s: 1",
        "13:33: 'clock.overhead_s' is not a known key; did you mean 'overhead_s'?"),
    Bad("figures", "figure", "14:25: 'output.figure' is not a known key; did you mean 'figures'?"),
    gpu("memory", "memroy", [
        "4:1: 'gpu.memory' is required",
        "4:7: 'gpu.memroy' is not a known key; did you mean 'memory'?"]),
    Bad("model: llama-3-8b\n", "", "1:1: 'model' is required"),
    Bad("  max_model_len: 2048\n", "", "9:1: 'server.max_model_len' is required"),
    Bad("{kind: roofline}", "{kind: fixed}", "13:1: 'clock.step_s' is required"),
    Bad("{kind: roofline}", "{step_s: 1}", "13:1: 'clock.kind' is required"),
    model("head_dim: 16, ", "", "3:1: 'model.head_dim' is required"),
    lengths("{prompt: 5}", "6:3: 'workload.lengths.output' is required"),
    Bad("  num_requests: 20\n", "",
        "5:1: 'workload': 'num_requests' is required, unless a 'trace' is replayed"),
    Bad(TOP, TOP + "1: one\n", "2:1: '1' is not a known key; known here: …"),
    Bad(TOP, TOP + "true: one\n", "2:1: a key must be text (got True)"),
    Bad(TOP, TOP + "~: one\n", "2:1: a key must be text (got nothing)"),
]  # fmt: skip

TYPES = [
    Bad(SEQS, "max_num_seqs: many", "11:3: 'server.max_num_seqs' must be a whole number"
        " (got 'many')"),
    Bad(SEQS, "max_num_seqs: '8'", "11:3: 'server.max_num_seqs' must be a whole number (got '8')"),
    Bad(SEQS, "max_num_seqs: true", "11:3: 'server.max_num_seqs' must be a whole number"
        " (got true)"),
    Bad(SEQS, "max_num_seqs: 8.5", "11:3: 'server.max_num_seqs' must be a whole number (got 8.5)"),
    Bad(SEQS, "max_num_seqs:", "11:3: 'server.max_num_seqs' must be a whole number (got nothing)"),
    Bad(SEQS, "max_num_seqs: .inf", "11:3: 'server.max_num_seqs' must be a whole number (got inf)"),
    Bad(SEQS, "kv_cache_dtype: 16", "11:3: 'server.kv_cache_dtype' must be text (got 16)"),
    Bad("seed: 0", "seed: zero", "2:1: 'seed' must be a whole number (got 'zero')"),
    Bad("seed: 0", "seed: 2020-01-01", "2:1: 'seed' must be a whole number (got '2020-01-01')"),
    Bad("figures: false", "figures: no", "14:25: 'output.figures' must be true or false"
        " (got 'no')"),
    Bad("{kind: roofline}", "roofline",
        "13:1: 'clock' must be a mapping of keys to values (got 'roofline')"),
    Bad("decode: {engine: none, model: tiny}", "decode:",
        "12:1: 'decode' must be a mapping of keys to values (got nothing)"),
    Bad("model: llama-3-8b", "model: 8", "3:1: 'model' must be a name of the catalog, or a mapping"
        " that describes one (got 8)"),
    Bad("gpu: a100-sxm-40gb", "gpu:", "4:1: 'gpu' must be a name of the catalog, or a mapping that"
        " describes one (got nothing)"),
    Bad("seed: 0", "seed: !mine 0", "2:1: 'seed' must be a plain value (got one with the tag"
        " !mine)"),
    Bad("seed: 0", "seed: !!python/object:os.system 0",
        "2:1: 'seed' must be a plain value (got one with the tag !!python/object:os.system)"),
    Bad("seed: 0", "seed: !!set {a, b}", "2:1: 'seed' must be a plain value (got one with the tag"
        " !!set)"),
]  # fmt: skip

BOUNDS = [
    Bad(SEQS, "max_num_seqs: 0", "11:3: 'server.max_num_seqs' must be >= 1 (got 0)"),
    Bad(SEQS, "gpu_memory_utilization: 1.5", "11:3: 'server.gpu_memory_utilization' must be <= 1"
        " (got 1.5)"),
    Bad(SEQS, "gpu_memory_utilization: 0", "11:3: 'server.gpu_memory_utilization' must be > 0"
        " (got 0)"),
    Bad(SEQS, "gpu_memory_utilization: .nan", "11:3: 'server.gpu_memory_utilization' must be a"
        " finite number (got nan)"),
    Bad(SEQS, "gpu_memory_utilization: .inf", "11:3: 'server.gpu_memory_utilization' must be <= 1"
        " (got inf)"),
    Bad(SEQS, "overhead: -2 GiB", "11:3: 'server.overhead' must be >= 0 (got '-2 GiB')"),
    Bad(SEQS, "kv_cache_memory_bytes: 1e30 B", "11:3: 'server.kv_cache_memory_bytes' must be <="
        " 1,000,000,000,000,000,000 (got '1e30 B')"),
    Bad(SEQS, "num_gpu_blocks_override: 1e30", "11:3: 'server.num_gpu_blocks_override' must be <="
        " 1,000,000,000,000 (got 1e+30)"),
    Bad(SEQS, "max_num_seqs: 1e30", "11:3: 'server.max_num_seqs' must be <= 1,000,000,000,000"
        " (got 1e+30)"),
    Bad("max_model_len: 2048", "max_model_len: 2147483648", "10:3: 'server.max_model_len' must be"
        " <= 2,147,483,647 (got 2147483648)"),
    Bad("num_requests: 20", "num_requests: 1e30", "7:3: 'workload.num_requests' must be <="
        " 1,000,000,000,000 (got 1e+30)"),
    gpu("80 GiB", "1e30 B", "4:7: 'gpu.memory' must be <= 1,000,000,000,000,000,000"
        " (got '1e30 B')"),
    Bad("seed: 0", "seed: -1", "2:1: 'seed' must be >= 0 (got -1)"),
    Bad("num_requests: 20", "num_requests: 0", "7:3: 'workload.num_requests' must be >= 1 (got 0)"),
    Bad("request_rate: 40", "request_rate: 0", "8:3: 'workload.request_rate' must be > 0 (got 0)"),
    Bad("request_rate: 40", "request_rate: -.inf", "8:3: 'workload.request_rate' must be > 0"
        " (got -inf)"),
    Bad("request_rate: 40", "burstiness: 0", "8:3: 'workload.burstiness' must be > 0 (got 0)"),
    Bad("kind: roofline", "kind: fixed, step_s: -1", "13:22: 'clock.step_s' must be >= 0 (got -1)"),
    Bad("kind: roofline", "kind: fixed, step_s: 0", "13:22: 'clock.step_s' must be > 0 (got 0)"),
    lengths("{prompt: 0, output: 9}", "6:13: 'workload.lengths.prompt' must be >= 1 (got 0)"),
    model("kv_heads: 2", "kv_heads: 3", "3:44: 'model.kv_heads' must divide q_heads, which is 4"
        " (got 3)"),
]  # fmt: skip

UNITS = [
    gpu("80 GiB", "80", "4:7: 'gpu.memory' must carry a unit, such as '80 GiB'; a bare number is"
        " unclear (got 80)"),
    gpu("80 GiB", "80 G", f"4:7: 'gpu.memory' must be a size with one of the units {BYTE_UNITS};"
        " 'G' alone is unclear: GB is decimal, GiB is 1024-based (got '80 G')"),
    gpu("80 GiB", "80 gb", f"4:7: 'gpu.memory' must be a size with one of the units {BYTE_UNITS},"
        " did you mean 'GB'? (got '80 gb')"),
    gpu("80 GiB", "'1,5 GB'", "4:7: 'gpu.memory' must be a number and a unit such as '80 GiB';"
        " a decimal point is written '.' (got '1,5 GB')"),
    gpu("80 GiB", "1e400 GB", "4:7: 'gpu.memory' must be a finite number (got '1e400 GB')"),
    gpu("3.3 TB/s", "3.3 TB", "4:23: 'gpu.bandwidth' must be a bandwidth with one of the units …"
        " (got '3.3 TB')"),
    gpu("1000 TFLOP/s", "fast", "4:44: 'gpu.flops' must be a number and a unit such as '1000"
        " TFLOP/s' (got 'fast')"),
    Bad(SEQS, "overhead: 2", "11:3: 'server.overhead' must carry a unit, such as '80 GiB'; a bare"
        " number is unclear (got 2)"),
    Bad("2048", "2K", "10:3: 'server.max_model_len' must be a number of tokens with one of the"
        " units k, M, Ki, Mi, did you mean 'k'? (got '2K')"),
    Bad("2048", "2.0005k", "10:3: 'server.max_model_len' must be a whole number of tokens"
        " (got '2.0005k')"),
    Bad("kind: roofline", "kind: fixed, step_s: 20 msec", "13:22: 'clock.step_s' must be a duration"
        " with one of the units s, ms, us, ns, min, h (got '20 msec')"),
]  # fmt: skip

NAMES = [
    Bad("llama-3-8b", "lama-3-8b", "3:1: 'model' must be a model of the catalog, did you mean"
        " 'llama-3-8b' or …? (got 'lama-3-8b')"),
    Bad("a100-sxm-40gb", "h100", "4:1: 'gpu' must be a GPU of the catalog, did you mean"
        " 'h100-pcie-80gb' or 'h100-sxm-80gb'? (got 'h100')"),
    lengths("sharegtp", "6:3: 'workload.lengths' must be a workload (…) or a file that exists,"
        " did you mean 'sharegpt'? (got 'sharegtp')"),
    Bad("tiny", "tinny", "12:24: 'decode.model' must be one of …; did you mean 'tiny'?"
        " (got 'tinny')"),
    Bad(SEQS, "kv_cache_dtype: fp7", "11:3: 'server.kv_cache_dtype' must be one of float32,"
        " float16, bfloat16, fp8, int8, … (got 'fp7')"),
    Bad("study: allocation", "study: alocation", "1:1: 'study' must be …'allocation'…"
        " (got 'alocation')"),
    Bad(SEQS, "policy: contigous", "11:3: 'server.policy' must be …'contiguous'… (got"
        " 'contigous')"),
    Bad("kind: roofline", "kind: rooflin", "13:9: 'clock.kind' must be 'roofline', …; did you mean"
        " 'roofline'? (got 'rooflin')"),
    Bad("{engine: none, model: tiny}", "{model: tiny, kv_cache_dtype: q4_0}",
        "12:23: 'kv_cache_dtype' q4_0 needs a head_dim that is a multiple of its groups of 32"
        " (the model's is 16)"),
    Bad("engine: none", "engine: torch", "12:10: 'decode.engine' must be 'numpy', 'none'"
        " (got 'torch')"),
    Bad("records: full", "records: some", "14:10: 'output.records' must be 'full', 'none'"
        " (got 'some')"),
    Bad("request_rate: 40", "too_long: drop", "8:3: 'workload.too_long' must be 'reject',"
        " 'truncate', 'error' (got 'drop')"),
    Bad("request_rate: 40", "request_rate: fast", f"8:3: 'workload.request_rate' {A_RATE}"
        " (got 'fast')"),
    Bad("request_rate: 40", "request_rate: .nan", f"8:3: 'workload.request_rate' {A_RATE}"
        " (got nan)"),
    Bad(TOP, TOP + "name: a/b\n", f"2:1: 'name' {FOLDER_NAME} (got 'a/b')"),
    Bad(TOP, TOP + "name: ..\n", f"2:1: 'name' {FOLDER_NAME} (got '..')"),
    Bad(TOP, TOP + "name: ''\n", f"2:1: 'name' {FOLDER_NAME} (got '')"),
    Bad(TOP, TOP + "name: 5\n", "2:1: 'name' must be text (got 5)"),
]  # fmt: skip

FILES_AND_RULES = [
    Bad("lengths: sharegpt", "trace: t.csv", "6:3: 'workload.trace' must be a file that exists"
        " (got '…/t.csv', no such file)"),
    Bad("lengths: sharegpt", "trace: trace", "6:3: 'workload.trace' must be a file that exists"
        " (got '…/trace', no such file)"),
    lengths("{kind: resample, file: .}", "6:29: 'workload.lengths.file' must be a file that exists"
        " (got '…', a folder)"),
    lengths("{kind: joint, table: t.csv}", "6:26: 'workload.lengths.table' must be a file that"
        " exists (got '…/t.csv', no such file)"),
    lengths("sharegpt\n  trace: e.yaml", "5:1: 'workload' must have exactly one of 'lengths'"
        " (drawn) and 'trace' (replayed) (got a mapping of lengths, trace, num_requests,"
        " request_rate)"),
    Bad("  lengths: sharegpt\n", "", "5:1: 'workload' must have exactly one of 'lengths' (drawn)"
        " and 'trace' (replayed) (got a mapping of num_requests, request_rate)"),
    lengths("{prompt: 5, output: {kind: uniform, low: 5, high: 2}}",
        "6:56: 'workload.lengths.output': 'high' must be >= 'low' (got low 5, high 2)"),
    Bad("kind: roofline", "kind: measured", "13:9: 'clock.kind' must be roofline or fixed when"
        " decode.engine is none: nothing is decoded whose time could be taken (got 'measured')"),
]  # fmt: skip

YAML = [
    Bad("seed: 0", "seed: 0\nseed: 1", "3:1: 'seed' is given twice; keep one of them"),
    Bad(SEQS, f"{SEQS}\n  {SEQS}", "12:3: 'max_num_seqs' is given twice; keep one of them"),
    Bad(GOOD, "a: [1, 2\nb: 3\n", "2:2: is not valid YAML: expected ',' or ']', but got ':'"),
    Bad(GOOD, "a:\n\tb: 1\n", "2:1: is not valid YAML: found character '\\t' that cannot start any"
        " token"),
    Bad("llama-3-8b", "*llama", "3:8: is not valid YAML: found undefined alias 'llama'"),
    Bad("seed: 0\n", "seed: 0\n---\n", "3:1: is not valid YAML: but found another document"),
    Bad(GOOD, "- 1\n- 2\n", "1:1: must be a mapping of keys to values (got a list)"),
    Bad(GOOD, "hello\n", "1:1: must be a mapping of keys to values (got a single value)"),
    Bad(GOOD, "", "1:1: must be a mapping of keys to values (got an empty file)"),
    Bad(GOOD, "# nothing yet\n", "1:1: must be a mapping of keys to values (got an empty file)"),
    Bad("tiny", "ti\0ny", "12:33: is not text: it has unprintable bytes"),
    Bad(GOOD, "a: " + "[" * 400 + "]" * 400, "1:1: is nested too deeply to be an experiment"),
    Bad("seed: 0", "seed: " + "9" * 5000, "1:1: has a value that cannot be read: …"),
]  # fmt: skip

ALL = [*KEYS, *TYPES, *BOUNDS, *UNITS, *NAMES, *FILES_AND_RULES, *YAML]


def matches(said: str, expected: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return re.fullmatch(pattern, said) is not None


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def name_of(case: Bad) -> str:
    said = case.said if isinstance(case.said, str) else case.said[0]
    return said.split(" (got")[0][:60]


@pytest.mark.parametrize("case", ALL, ids=name_of)
def test_a_mistake_is_reported_at_its_place_and_nothing_is_written(
    case: Bad, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert case.old in GOOD
    (here / "e.yaml").write_text(GOOD.replace(case.old, case.new, 1))
    assert run.main(["e.yaml"]) == 2
    printed = capsys.readouterr()
    expected = [case.said] if isinstance(case.said, str) else case.said
    lines = printed.err.splitlines()
    assert len(lines) == len(expected), lines
    for line, what in zip(lines, expected, strict=True):
        assert matches(line, f"error: e.yaml:{what}"), line
    assert printed.out == ""
    assert [path.name for path in here.iterdir()] == ["e.yaml"]


def test_the_table_is_about_an_experiment_that_is_good(here: Path) -> None:
    from wastesim import load_experiment

    (here / "e.yaml").write_text(GOOD)
    assert load_experiment("e.yaml").workload.num_requests == 20
    assert len(ALL) >= 60


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.yaml", None, "cannot be read (No such file or directory)"),
        ("latin.yaml", "name: café\n".encode("latin-1"), "must be UTF-8 text (…)"),
        ("binary.yaml", b"\x89PNG\r\n\x1a\n\0\0\xff", "must be UTF-8 text (…)"),
        ("utf16.yaml", GOOD.encode("utf-16"), "must be UTF-8 text (…)"),
        (".", None, "cannot be read (Is a directory)"),
    ],
)
def test_a_file_that_is_no_text_is_reported_by_its_name(
    name: str, content: bytes | None, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (here / name).write_bytes(content)
    assert run.main([name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert matches(line, f"error: {name}: {said}")


def test_all_mistakes_are_reported_at_once_in_file_order(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wrong values, unknown names, missing files and broken options, found in different rooms."""
    edits = {
        "seed: 0": "seed: -1",
        "llama-3-8b": "lama-3-8b",
        "lengths: sharegpt": "trace: nowhere.csv",
        SEQS: "max_num_seqs: no",
        "tiny": "tinny",
        "records": "recrods",
    }
    text = GOOD
    for old, new in edits.items():
        text = text.replace(old, new)
    (here / "e.yaml").write_text(text)
    options = ["--set", "clock.kind.x=1", "--set", "workload.burstiness=-2", "--set", "oops"]
    assert run.main(["e.yaml", *options]) == 2
    places = [line.split(" ")[1] for line in capsys.readouterr().err.splitlines()]
    in_file = ["e.yaml:2:1:", "e.yaml:3:1:", "e.yaml:6:3:", "e.yaml:11:3:", "e.yaml:12:24:"]
    assert places == [*in_file, "e.yaml:14:10:", "--set", "--set", "--set:"]


OPTIONS = [
    ("server.max_num_seqs=0", "--set server.max_num_seqs: 'server.max_num_seqs' must be >= 1"
     " (got 0)"),
    ("server.max_num_seqs=", "--set server.max_num_seqs: 'server.max_num_seqs' must be a whole"
     " number (got nothing)"),
    ("modle=x", "--set modle: 'modle' is not a known key; did you mean 'model'?"),
    ("seed", "--set: must look like server.max_model_len=4096 (got 'seed')"),
    ("=5", "--set: must look like server.max_model_len=4096 (got '=5')"),
    ("server..x=5", "--set: must look like server.max_model_len=4096 (got 'server..x=5')"),
    ("seed.value=5", "--set seed.value: 'seed.value' cannot be set, because 'seed' is 0 and not a"
     " mapping; set the whole of it"),
    ("workload.trace=t.csv", "--set workload.trace: 'workload.trace' must be a file that exists"
     " (got '…/t.csv', no such file)"),
    ("gpu=h100", "--set gpu: 'gpu' must be a GPU of the catalog, did you mean 'h100-pcie-80gb' or"
     " 'h100-sxm-80gb'? (got 'h100')"),
    ("clock={kind: fixed}", "--set clock: 'clock.step_s' is required"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "said"), OPTIONS)
def test_a_mistake_in_an_option_is_reported_with_the_option(
    option: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(GOOD)
    assert run.main(["e.yaml", "--set", option]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert matches(lines[-1], f"error: {said}"), lines
    assert [path.name for path in here.iterdir()] == ["e.yaml"]


def test_several_mistakes_in_one_option_are_all_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(GOOD)
    assert run.main(["e.yaml", "--set", "server={max_model_len: 0, polcy: x}"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: --set server: 'server.max_model_len' must be >= 1 (got 0)",
        "error: --set server: 'server.polcy' is not a known key; did you mean 'policy'?",
    ]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "server.gpu_memory_utilization=0.4",
            "no memory is left for keys and values: 40.00 GiB card x 0.4 = …; raise"
            " gpu_memory_utilization, take a larger gpu, …",
        ),
        (
            "server.kv_cache_memory_bytes=100",
            "'kv_cache_memory_bytes' must hold at least one cell of 131,072 B (got 100 B): raise"
            " it",
        ),
    ],
)
def test_a_budget_without_a_cell_is_one_clear_line_and_leaves_no_folder(
    option: str, said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(GOOD)
    assert run.main(["e.yaml", "--set", option]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert matches(line, f"error: {said}"), line
    assert [path.name for path in here.iterdir()] == ["e.yaml"]
