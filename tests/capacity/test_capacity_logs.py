"""Start-up lines of each engine: what is read, what is concluded, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wastesim.capacity import main
from wastesim.capacity.logs import parse_log
from wastesim.capacity.printed import Printed, amount
from wastesim.units import GIB, MIB

VLLM_OLD = """\
INFO the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.90) = 21.22GiB
INFO model weights take 14.99GiB; non_torch_memory takes 0.35GiB; PyTorch activation peak memory takes 2.07GiB; the rest of the memory reserved for KV Cache is 3.81GiB.
INFO # GPU blocks: 1952, # CPU blocks: 2048
INFO Maximum concurrency for 20000 tokens per request: 1.56x
"""  # noqa: E501
VLLM_NEW = """\
INFO Model loading took 14.9888 GiB memory and 2.1 seconds
INFO Available KV cache memory: 40.00 GiB
INFO GPU KV cache size: 327,680 tokens, Maximum concurrency for 8,192 tokens per request: 40.00x
"""
VLLM_ERROR = """\
ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (0.71 GiB). Based on the available memory, the estimated maximum model length is 5632.
"""  # noqa: E501
SGLANG = """\
[TP0] KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB
[TP0] max_total_num_tokens=367404, chunked_prefill_size=8192, context_len=40960
"""
LLAMA_CPP = """\
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 32768
llama_kv_cache:  CUDA0 KV buffer size =  2788.00 MiB
llama_kv_cache:  CUDA1 KV buffer size =  1564.00 MiB
llama_kv_cache: size = 4352.00 MiB ( 32768 cells,  64 layers,  1/1 seqs), K (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB
"""  # noqa: E501
TRT = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 64.75 GiB for max tokens in paged KV cache (132608)."  # noqa: E501


@pytest.fixture
def read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def tree(text: str, *words: str) -> Any:
        path = tmp_path / "server.log"
        path.write_text(text, encoding="utf-8")
        assert main(["--from-log", str(path), "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    return tree


def hypothesis(found: Any, text: str) -> bool:
    return any(text in line for line in found["hypotheses"])


def test_the_first_generation_of_vllm(read: Any) -> None:
    found = read(VLLM_OLD)
    assert (found["engine"], found["numbers"]["num_blocks"]) == ("vllm", 1952)
    assert found["bytes_per_token"] == [131_072, 131_072]
    assert hypothesis(found, "llama-3.1-8b, float16 cache, one rank, binary units")
    assert any("3.81 GiB for the cache; the log says 3.81 GiB" in line for line in found["checks"])


def test_the_second_generation_of_vllm(read: Any) -> None:
    found = read(VLLM_NEW, "--model", "llama-3-8b")
    numbers = found["numbers"]
    assert (numbers["tokens"], numbers["max_model_len"]) == (327_680, 8192)
    assert (numbers["concurrency"], numbers["kv_bytes"]) == (40.0, 40 * GIB)
    assert found["hypotheses"][0] == "llama-3-8b, float16 cache, one rank, binary units"
    assert any("agree" in line for line in found["checks"])


def test_a_refusal_of_vllm(read: Any) -> None:
    found = read(VLLM_ERROR)
    numbers = found["numbers"]
    assert (numbers["needed_bytes"], numbers["estimated_max_len"]) == (16 * GIB, 5632)
    assert hypothesis(found, "llama-3.1-8b, float16")


def test_sglang_says_gb_and_means_gib(read: Any) -> None:
    found = read(SGLANG, "--model", "qwen3-235b-a22b")
    assert found["engine"] == "sglang"
    assert found["hypotheses"][0] == (
        "qwen3-235b-a22b, float16 cache, tensor parallel over 4, binary units"
    )


def test_llama_cpp(read: Any) -> None:
    found = read(LLAMA_CPP, "--model", "qwen2.5-32b")
    assert found["engine"] == "llama.cpp"
    assert found["numbers"]["keys_bytes"] == 2176 * MIB
    assert found["hypotheses"] == ["qwen2.5-32b, q8_0 cache, one rank, binary units"]


def test_tensorrt_llm(read: Any) -> None:
    found = read(TRT, "--model", "llama-2-7b")
    assert found["engine"] == "tensorrt-llm"
    assert found["hypotheses"][0] == "llama-2-7b, float16 cache, one rank, binary units"


def test_the_last_of_several_starts_counts() -> None:
    facts = parse_log("GPU KV cache size: 16,000 tokens\nGPU KV cache size: 32,000 tokens")
    assert facts.value("tokens") == 32_000


@pytest.mark.parametrize("content", ["", "nothing of interest\n", "\x00\x01\xff"])
def test_a_log_without_such_lines_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.log"
    path.write_bytes(content.encode("latin-1"))
    assert main(["--from-log", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {path}: has no start-up line of an engine, such as 'GPU KV")


def test_printed_numbers_are_intervals() -> None:
    printed = amount("3.81GiB")
    assert printed.allows(3.8149 * GIB)
    assert not printed.allows(3.816 * GIB)
    assert Printed.read("290,864").half == 0.0
    assert amount("80 GB", decimal=True).value == 80e9
    assert amount("80 GB").value == 80 * GIB


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("GPU KV cache size: 0 tokens\nMaximum concurrency for 0 tokens per request: 0.00x",
         "says 0 tokens ('GPU KV cache size: 0 tokens'): this server had no cache"),
        ("INFO # GPU blocks: 0, # CPU blocks: 2048", "says 0 num_blocks ('INFO # GPU blocks: 0"),
        ("max seq len (0), (16.00 GiB KV cache is needed", "says 0 max_model_len ("),
        ("llama_context: n_ctx         = 0", "says 0 n_ctx ("),
    ],
)  # fmt: skip
def test_a_server_without_a_cache_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.log"
    path.write_text(text, encoding="utf-8")
    assert main(["--from-log", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {path}: ")
    assert said in line


def test_an_empty_swap_space_says_nothing(read: Any) -> None:
    """`# CPU blocks: 0`: what the cache holds then follows from its bytes, if they are printed."""
    assert read("# GPU blocks: 1952, # CPU blocks: 0")["bytes_per_token"] is None
