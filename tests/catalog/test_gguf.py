"""GGUF headers: tiny files written by gguf itself, read back as models."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim.catalog import kv_bytes_per_token, resolve_model
from wastesim.catalog.gguf_header import BLOCKS, read_header
from wastesim.catalog.kv import fixed_bytes_per_request
from wastesim.catalog.layers import layer_kinds
from wastesim.catalog.weights import weights_bytes
from wastesim.config.hardware import ModelGeometry
from wastesim.errors import ConfigError
from wastesim.result import load_experiment

gguf = pytest.importorskip("gguf")


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """`write(architecture, tied=..., **keys)`: a file with an embedding of 40 x 64 in q8_0."""

    def file(architecture: str = "llama", *, tied: bool = True, **keys: Any) -> Path:
        path = tmp_path / "tiny.gguf"
        writer = gguf.GGUFWriter(path, architecture)
        usual = {"block_count": 4, "embedding_length": 64, "attention.head_count": 4,
                 "attention.head_count_kv": 2, "context_length": 512,
                 "feed_forward_length": 128}  # fmt: skip
        for key, value in (usual | keys).items():
            name = f"{architecture}.{key.replace('__', '.')}"
            if isinstance(value, list):
                writer.add_array(name, value)
            elif value is not None:
                writer.add_uint32(name, value)
        table = np.ones((40, 64), dtype=np.float32)
        quantised = gguf.quants.quantize(table, gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor("token_embd.weight", quantised, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        if not tied:
            writer.add_tensor("output.weight", table.astype(np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return file


def test_an_experiment_takes_one_relative_to_its_file(write: Any, tmp_path: Path) -> None:
    """And what is saved of it is the geometry, so that results run again without the file."""
    written = write()
    experiment = tmp_path / "e.yaml"
    experiment.write_text(
        "model: tiny.gguf\ngpu: a100-sxm-40gb\nserver: {max_model_len: 128}\n"
        "workload: {lengths: sharegpt, num_requests: 2}\n"
    )
    assert load_experiment(experiment).model == read(written)
    written.unlink()
    with pytest.raises(ConfigError, match=r"e\.yaml:1:\d+: 'model' must be the GGUF file of a"):
        load_experiment(experiment)


def read(path: Path) -> ModelGeometry:
    return resolve_model(str(path))


def test_block_sizes_are_those_of_gguf() -> None:
    known = {kind.value: size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert {kind: BLOCKS[kind] for kind in BLOCKS if kind in known} == {
        kind: tuple(known[kind]) for kind in BLOCKS if kind in known
    }


def test_geometry_and_exact_bytes_of_weights(write: Any) -> None:
    model = read(write(tied=False))
    assert (model.layers, model.hidden, model.q_heads, model.kv_heads) == (4, 64, 4, 2)
    assert (model.head_dim, model.max_model_len, model.ffn, model.vocab) == (16, 512, 128, 40)
    assert model.tied_embeddings is False
    assert weights_bytes(model) == 40 * 64 * 34 // 32 + 40 * 64 * 2
    assert kv_bytes_per_token(model, "q8_0") == 4 * 2 * (2 * 16 * 34 // 32)


def test_a_file_without_an_output_matrix_is_tied(write: Any) -> None:
    assert read(write()).tied_embeddings is True


def test_keys_and_values_of_other_widths(write: Any) -> None:
    model = read(write(attention__key_length=24, attention__value_length=8))
    assert kv_bytes_per_token(model) == 4 * 2 * (24 + 8) * 2


def test_kv_heads_layer_by_layer_with_recurrent_ones(write: Any) -> None:
    states = {"ssm__inner_size": 32, "ssm__state_size": 8, "ssm__conv_kernel": 4}
    model = read(write(attention__head_count_kv=[0, 0, 0, 2], **states))
    assert {kind.kind: kind.layers for kind in layer_kinds(model)} == {"state": 3, "full": 1}
    assert fixed_bytes_per_request(model) == 3 * 4 * (32 * 8 + 3 * (32 + 2 * 8))
    assert kv_bytes_per_token(model) == 2 * (16 + 16) * 2


def test_windows_of_a_family_without_a_pattern(write: Any) -> None:
    model = read(write("gpt-oss", attention__sliding_window=128))
    kinds = {kind.kind: (kind.layers, kind.window) for kind in layer_kinds(model)}
    assert kinds == {"window": (2, 128), "full": (2, None)}


def test_a_latent(write: Any) -> None:
    model = read(write("deepseek2", attention__kv_lora_rank=32, rope__dimension_count=8))
    assert kv_bytes_per_token(model) == 4 * 40 * 2


def test_a_missing_key_is_named(write: Any) -> None:
    with pytest.raises(ConfigError, match=r"tiny.gguf: 'llama.block_count' is required"):
        read(write(block_count=None))


def test_a_header_is_enough(write: Any) -> None:
    path = write()
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"token_embd") + 60])
    assert len(read_header(path).tensors) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not a GGUF file"),
        (b"PK\x03\x04", "is not a GGUF file"),
        (b"GGUF\x09\x00\x00\x00" + b"\0" * 16, "its version is 9, 2 and 3 can be read"),
        (b"GGUF\x03\x00\x00\x00\xff\xff", "is truncated: its header goes on to byte 16"),
        (b"GGUF\x03\x00\x00\x00" + b"\0" * 8 + b"\x01" + b"\xff" * 15, "it claims"),
        (
            b"GGUF\x03\x00\x00\x00"
            + b"\0" * 8
            + b"\x01"
            + b"\0" * 7
            + b"\0" * 8
            + struct.pack("<IIQ", 9, 9, 1),
            "a list has elements of type 9",
        ),
    ],
)
def test_what_is_not_a_gguf_file_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        read(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.gguf: does not exist"):
        read(tmp_path / "none.gguf")
