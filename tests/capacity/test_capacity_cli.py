"""`python -m wastesim.capacity`: the chapter's numbers, every mode, and one clear error each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wastesim.capacity import main
from wastesim.units import GIB

CHAPTER = ["--model", "llama-3-8b", "--gpu-memory", "80 GiB", "--gpu-memory-utilization", "1",
           "--overhead", "2 GiB", "--context", "4096", "--concurrency", "32"]  # fmt: skip
DEFAULT = Path(__file__).parents[2] / "experiments" / "default.yaml"


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Any:
    """`ask(*words)`: the JSON tree."""

    def run(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Any:
    """`refused(*words)`: the one line of the error."""

    def run(*words: str) -> str:
        assert main(list(words)) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        (line,) = printed.err.splitlines()
        return line

    return run


@pytest.mark.parametrize("engine", ["vllm", "vllm-0.11", "static", "sglang", "tensorrt-llm"])
def test_the_chapters_calculator(engine: str, ask: Any) -> None:
    """131.1 kB, 16.0 GiB, 14.96 GiB, 126, and 52 % of 30.96 GiB."""
    found = ask(*CHAPTER, "--engine", engine)
    assert found["kv"]["bytes_per_token"] == 131_072
    assert found["request"]["asked_bytes"] == 16 * GIB
    assert round(found["memory"]["weights_bytes"] / GIB, 2) == 14.96
    assert found["capacity"]["full_length_requests"] == 126
    assert round(100 * found["request"]["kv_share_of_weights_and_kv"]) == 52
    assert round(found["request"]["tokens_beyond_weights"], -2) == 122_500


def test_static_buffers_know_no_utilization(ask: Any) -> None:
    """The chapter's program divides the whole card: 126, and 252 with an 8-bit cache."""
    words = ["--model", "llama-3-8b", "--gpu-memory", "80 GiB", "--overhead", "2 GiB",
             "--context", "4096", "--concurrency", "32", "--engine", "static"]  # fmt: skip
    found = ask(*words)
    assert found["kv"]["bytes_per_token"] == 131_072
    assert found["request"]["asked_bytes"] == 16 * GIB
    assert round(found["memory"]["weights_bytes"] / GIB, 2) == 14.96
    assert found["capacity"]["full_length_requests"] == 126
    int8 = ask(*words, "--kv-cache-dtype", "int8")
    assert int8["capacity"]["full_length_requests"] == 252


def test_int8_doubles_the_payload_and_scales_cost(ask: Any) -> None:
    assert ask(*CHAPTER, "--kv-cache-dtype", "int8")["capacity"]["full_length_requests"] == 252
    found = ask(*CHAPTER)["dtypes"]
    assert found["int8"]["requests_of_context"] == 252
    assert found["int8_head"]["requests_of_context"] == 244
    assert found["q8_0"]["requests_of_context"] == 237


def test_gpt_3_against_llama_3_70b(ask: Any) -> None:
    rows = ask("--model", "gpt-3,llama-3-70b", "--gpu-memory", "4 TiB", "--context", "2048")
    large, small = (row["bytes_per_token"] for row in rows)
    assert (large, small, large / small) == (4_718_592, 327_680, 14.4)


def test_every_term_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(CHAPTER) == 0
    text = capsys.readouterr().out
    for part in (
        "126 requests of 4,096 tokens fit: llama-3-8b",
        "131,072 B per token = 32 layers x 8 KV heads x (128 + 128) x 2 B (float16)",
        "= 131.1 kB = 128.0 KiB",
        "- 14.96 GiB (16,059,990,016 B) weights",
        "= 63.04 GiB (67,691,872,256 B) for keys and values",
        "(32,278 - 1 null block) / 256 blocks per request of 4,096 = 126 requests (126.09x)",
        "32 requests of 4,096 tokens: 16.00 GiB of cache, 51.7 % of weights and cache (30.96 GiB)",
    ):
        assert part in text


def test_vllms_own_start_up_line(ask: Any) -> None:
    """gpt-oss-20b on 40 GiB of cache, as vLLM 0.33 and 0.11 print it."""
    words = ["--model", "gpt-oss-20b", "--gpu-memory", "80 GiB", "--kv-cache-memory-bytes",
             "40 GiB", "--max-model-len", "131072"]  # fmt: skip
    line = (
        "GPU KV cache size: {} tokens, Maximum concurrency for 131,072 tokens per request: 12.54x"
    )
    assert ask(*words)["capacity"]["log_line"] == line.format("1,643,116")
    old = ask(*words, "--engine", "vllm-0.11")["capacity"]["log_line"]
    assert old == line.format("873,808")


def test_layouts_of_llama_cpp(ask: Any) -> None:
    """5 full and 29 window layers of 4,096 B a cell: 320 MiB and 29 x 4 x 1,536 or 29 x 4,608."""
    words = ["--model", "gemma-3-4b", "--gpu-memory", "24 GiB", "--context", "4096"]
    found = ask(*words, "--concurrency", "4", "--engine", "llama.cpp")
    lines = [line for line in found["explanation"] if line.startswith("-c 16384 -np 4")]
    assert lines == [
        "-c 16384 -np 4: 4 x 4,096 cells, 1,016.00 MiB",
        "-c 16384 -np 4 --swa-full: 4 x 4,096 cells, 2.12 GiB",
        "-c 16384 -np 4 -kvu: 1 x 16,384 cells, promised 4 times over, 842.00 MiB",
        "-c 16384 -np 4 -kvu --swa-full: 1 x 16,384 cells, promised 4 times over, 2.12 GiB",
    ]


def test_what_does_not_fit_is_an_answer_with_numbers(ask: Any) -> None:
    found = ask(*CHAPTER[:-1], "200")
    assert found["request"]["fits"] is False
    assert found["request"]["missing_bytes"] == 100 * GIB - found["memory"]["kv_bytes"]


def test_parallel_ranks(ask: Any) -> None:
    words = ("--model", "llama-3-70b", "--gpu", "h100-sxm", "--context", "8192")
    four = ask(*words, "-tp", "4")
    assert four["kv"]["bytes_per_token"] == 327_680 // 4
    both = ask(*words, "-tp", "4", "-dp", "2")
    assert both["capacity"]["full_length_requests"] == 2 * four["capacity"]["full_length_requests"]
    stages = ask(*words, "-pp", "4")
    assert stages["kv"]["bytes_per_token"] == 327_680 // 4
    sixteen = ask(*words, "-tp", "16")
    assert sixteen["kv"]["bytes_per_token"] == 327_680 // 8
    assert any("2 times over the 16 ranks" in line for line in sixteen["explanation"])


@pytest.mark.parametrize(
    ("model", "kind"), [("gemma-3-27b", "window"), ("llama-4-scout", "chunked")]
)
def test_layers_of_several_kinds(model: str, kind: str, ask: Any) -> None:
    found = ask("--model", model, "--gpu-memory", "300 GiB", "--context", "100000")
    assert [row["kind"] for row in found["kv"]["kinds"]] == [kind, "full"]
    assert found["request"]["least_bytes"] < found["kv"]["bytes_per_token"] * 100_000


def test_a_table_of_models_and_contexts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--model", "all", "--gpu", "h100-sxm", "--context", "4096,131072"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 + 64
    assert lines[2].split() == ["model", "KV", "B/token", "4,096", "131,072", "longest"]
    llama = next(line for line in lines if line.startswith("llama-3.1-8b "))
    assert llama.split() == ["llama-3.1-8b", "131,072", "109", "3", "131,072"]
    assert next(line for line in lines if line.startswith("kimi-k2")).split()[1:] == ["–"] * 4


def test_a_table_in_json_says_whether_so_many_fit(ask: Any) -> None:
    words = ["--model", "llama-3-8b", "--gpu", "h100-sxm", "--context", "4096,131072"]
    assert [row["fits"] for row in ask(*words, "--concurrency", "20")] == [True, False]


def test_an_experiment_answers_with_its_own_values(ask: Any) -> None:
    found = ask(str(DEFAULT))
    assert found["engine"] == "static"
    assert found["capacity"]["full_length_requests"] == 76
    assert found["lengths"]["capacity_cells"] == 156_000
    assert found["lengths"]["concurrency"]["contiguous"] == 76
    assert ask(str(DEFAULT), "--set", "server.max_model_len=4096")["max_model_len"] == 4096
    assert ask(str(DEFAULT), "--engine", "vllm")["engine"] == "vllm"


def test_an_option_says_what_becomes_of_too_long_requests_else_the_experiment(ask: Any) -> None:
    short = [str(DEFAULT), "--set", "server.max_model_len=1024"]
    usual, cut = ask(*short)["lengths"], ask(*short, "--set", "workload.too_long=truncate")
    rejected = ask(*short, "--set", "workload.too_long=truncate", "--too-long", "reject")
    assert [usual["too_long"], cut["lengths"]["too_long"]] == [None, "truncate"]
    assert cut["lengths"]["written"]["contiguous"] > usual["written"]["contiguous"]
    assert rejected["lengths"]["written"]["contiguous"] == usual["written"]["contiguous"]
    assert rejected["lengths"]["live_tokens"] < usual["live_tokens"]


def test_a_stated_number_of_blocks_replaces_the_budget(ask: Any) -> None:
    paged = ["--set", "server.policy=paged", "--set", "server.num_gpu_blocks_override=1001"]
    assert ask(str(DEFAULT), *paged)["capacity"]["units"] == 1001
    assert ask(str(DEFAULT), *paged)["capacity"]["full_length_requests"] == 1000 // 128


def test_the_picture_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHAPTER, "--figure", str(tmp_path / "new")]) == 0
    assert "picture: " in capsys.readouterr().out
    svg = (tmp_path / "new" / "capacity.svg").read_text(encoding="utf-8")
    assert "llama-3-8b: 126 requests of 4,096 tokens fit on 80.00 GiB" in svg
    assert "cache that does not fit" in svg


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "'--model' must be given"),
        (["--model", "llama-3-8b"], "'--gpu' or '--gpu-memory' must be given"),
        (["--model", "lama-3-8b", "--gpu", "h100-sxm"], "did you mean 'llama-3-8b'"),
        (["--model", "llama-3-8b", "--gpu", "h10"], "must be a GPU of the catalog, did you mean"),
        (["--model", "none/config.json", "--gpu", "h100-sxm"], "cannot be read"),
        (["--model", "none.gguf", "--gpu", "h100-sxm"], "does not exist"),
        ([*CHAPTER, "--gpu-memory", "80"], "'--gpu-memory' must be a size with one of the units"),
        ([*CHAPTER, "--gpu-memory", "80 G"], "'G' alone is unclear"),
        ([*CHAPTER, "--gpu-memory", "1e300 B"], "'--gpu-memory' must be <= 1,000,000,000,000,0"),
        ([*CHAPTER, "--context", "1e300"], "'--context' must be <= 2,147,483,647 (got '1e300')"),
        ([*CHAPTER, "--engine", "vlm"], "'engine' must be one of vllm"),
        ([*CHAPTER, "--kv-cache-dtype", "int3"], "'--kv-cache-dtype' must be one of float32"),
        ([*CHAPTER, "--gpu-memory-utilization", "1.5"], "must be above 0 and <= 1 (got 1.5)"),
        ([*CHAPTER, "-tp", "64"], "'--tensor-parallel-size' must be <= 32"),
        ([*CHAPTER, "-pp", "64"], "'--pipeline-parallel-size' must be <= 32"),
        ([*CHAPTER, "--max-model-len", "2048"], "'--context' must be <= --max-model-len 2,048"),
        ([*CHAPTER, "--context", "4.5"], "'--context' must be a whole number of tokens"),
        ([*CHAPTER, "--gpu-memory", "16 GiB"], "no memory is left for keys and values"),
        ([*CHAPTER, "--lengths", "shargpt"], "did you mean 'sharegpt'"),
        (
            ["--model", "llama-3-8b,gemma-3-27b", "--gpu", "h100-sxm", "--figure", "f"],
            "'--figure' goes with the answer for one model and one context, and a table of 2 was",
        ),
        ([*CHAPTER, "--context", "8192"], "'--concurrency' goes with the answer for one model"),
        (["--model", "all", "--gpu", "h100-sxm", "--lengths", "sharegpt"], "'--lengths' goes"),
        (["--from-log", "a.log", "--figure", "f"], "and '--from-log' reads a log: leave it out"),
        (["--explain", "5 kB", "--lengths", "sharegpt"], "and '--explain' explains a number"),
        ([*CHAPTER, "--explain", "much"], "'--explain' must be a number with a unit"),
        ([*CHAPTER, "--from-log", "none.log"], "none.log: cannot be read"),
    ],
)
def test_one_clear_error(words: list[str], said: str, refused: Any) -> None:
    line = refused(*words)
    assert line.startswith("error: ")
    assert said in line


@pytest.mark.parametrize("words", [["--concurrency", "0"], ["--concurrency", "some"], ["-tp", "x"]])
def test_numbers_that_are_none(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*CHAPTER, *words])
    assert caught.value.code == 2
    assert "must be a whole number >= 1" in capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "wastesim.capacity", *CHAPTER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("126 requests of 4,096 tokens fit")
