"""GGUF files: a Llama-like one is executed; a broken or foreign one is one clear error."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wastesim.decode.geometry import DecodeModel
from wastesim.decode.gguf_file import read_gguf
from wastesim.decode.gguf_weights import gguf_model, load_gguf
from wastesim.decode.kv_cache import generate_cached
from wastesim.decode.models import decode_model, model_problem
from wastesim.decode.tokenizer import Tokenizer, tokenizer_of
from wastesim.errors import InputError

gguf = pytest.importorskip("gguf", reason="GGUF files are written and dequantised by gguf")

MODEL = DecodeModel("toy", 2, 32, 4, 2, 8, ffn=64, vocab=96, rope_base=500.0)
SHAPES = {
    "attn_norm": (32,), "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32),
    "attn_output": (32, 32), "ffn_norm": (32,), "ffn_gate": (64, 32), "ffn_up": (64, 32),
    "ffn_down": (32, 64),
}  # fmt: skip


def tensors(*, tied: bool = True) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = {"token_embd.weight": (96, 32), "output_norm.weight": (32,)}
    shapes |= {f"blk.{i}.{n}.weight": s for i in range(2) for n, s in SHAPES.items()}
    shapes |= {} if tied else {"output.weight": (96, 32)}
    return {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def written(
    path: Path,
    parts: dict[str, np.ndarray],
    architecture: str = "llama",
    *,
    kind: str | None = None,
    **fields: int | str,
) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    numbers = {"context_length": 128, "embedding_length": 32, "block_count": 2,
               "feed_forward_length": 64, "attention.head_count": 4,
               "attention.head_count_kv": 2, "rope.dimension_count": 8}  # fmt: skip
    for name, value in numbers.items():
        writer.add_uint32(f"{architecture}.{name}", value)
    writer.add_float32(f"{architecture}.rope.freq_base", 500.0)
    writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5)
    for name, value in fields.items():
        add = writer.add_string if isinstance(value, str) else writer.add_uint32
        add(name.replace("__", "."), value)
    for name, array in parts.items():
        if kind is None or array.ndim == 1:
            writer.add_tensor(name, array)
        else:
            quantised = gguf.GGMLQuantizationType[kind]
            raw = gguf.quants.quantize(array, quantised)
            writer.add_tensor(name, raw, raw_dtype=quantised)
    for write in (
        writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file
    ):  # fmt: skip
        write()
    writer.close()
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "toy.gguf", tensors())


def test_shape_and_weights_are_those_in_the_file(file):
    model, parts = gguf_model(file), tensors()
    expected = {**vars(MODEL), "rms_eps": model.rms_eps, "context": 128, "source": str(file)}
    assert vars(model) == expected
    weights = load_gguf(model)
    assert np.array_equal(weights.embedding, parts["token_embd.weight"])
    assert np.array_equal(weights.head, parts["token_embd.weight"].T)  # tied
    qkv = [parts[f"blk.1.attn_{n}.weight"] for n in "qkv"]
    assert np.array_equal(weights.layers[1].qkv, np.concatenate(qkv).T)
    assert np.array_equal(weights.layers[0].down, parts["blk.0.ffn_down.weight"].T)
    matrices = (weights.head, weights.layers[0].qkv, weights.layers[0].gate_up)
    assert all(matrix.flags.c_contiguous for matrix in matrices)
    numbers = sum(a.size for layer in weights.layers for a in vars(layer).values())
    assert model.weights == numbers + 2 * weights.head.size + weights.norm.size


def test_a_head_of_its_own_is_used(tmp_path):
    weights = load_gguf(gguf_model(written(tmp_path / "untied.gguf", tensors(tied=False))))
    assert np.array_equal(weights.head, tensors(tied=False)["output.weight"].T)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0"])
def test_quantised_tensors_are_dequantised(tmp_path, kind):
    path = written(tmp_path / "toy.gguf", tensors(), kind=kind)
    name = "blk.0.attn_q.weight"
    raw = gguf.quants.quantize(tensors()[name], gguf.GGMLQuantizationType[kind])
    expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType[kind])
    assert np.array_equal(read_gguf(path).read(name), expected)


def test_the_header_says_what_the_gguf_package_reads(file):
    found, expected = read_gguf(file), gguf.GGUFReader(file)
    assert found.tensors.keys() == {tensor.name for tensor in expected.tensors}
    for tensor in expected.tensors:
        assert found.tensors[tensor.name].start == tensor.data_offset
        assert found.read(tensor.name).shape == tensor.data.shape
    for name in ("llama.block_count", "llama.rope.freq_base", "general.architecture"):
        assert found.fields[name] == expected.fields[name].contents()


def test_any_such_file_decodes_by_its_path(file):
    model = decode_model(str(file))
    assert model.name == "toy"
    reply, cache = generate_cached(load_gguf(model), [3, 1, 4], 8, 16)
    assert len(reply) == 8
    assert cache.length == 10


def problem(path: Path) -> str:
    """What `decode.model: PATH` says."""
    return model_problem(str(path))


@pytest.mark.parametrize("kept", [0, 3, 4, 20, 200, 700, 2000, -1, -5000])
def test_a_file_cut_anywhere_is_one_error(file, kept):
    whole = file.read_bytes()
    file.write_bytes(whole[:kept] if kept != -1 else whole[:-64])
    assert "truncated" in problem(file) or "not a GGUF" in problem(file)
    assert "\n" not in problem(file)


def test_a_missing_file_a_folder_and_a_foreign_one_are_told_apart(tmp_path):
    foreign = tmp_path / "x.gguf"
    foreign.write_bytes(b"PK\x03\x04" + bytes(100))
    assert problem(foreign) == f"{foreign}: is not a GGUF file (it does not begin with 'GGUF')"
    assert problem(tmp_path / "none.gguf").endswith("none.gguf: does not exist")
    folder = tmp_path / "folder.gguf"
    folder.mkdir()
    assert "cannot be read" in problem(folder)


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [
        (4, struct.pack("<I", 9), "its version is 9"),
        (8, struct.pack("<Q", 2**60), "claims"),
        (16, struct.pack("<Q", 2**60), "claims"),
    ],
)
def test_a_damaged_header_is_one_error(file, at, value, words):
    content = bytearray(file.read_bytes())
    content[at : at + len(value)] = value
    file.write_bytes(content)
    assert words in problem(file)


def test_an_alignment_that_is_no_number_is_one_error(tmp_path):
    path = written(tmp_path / "x.gguf", tensors(), general__alignment="thirty-two")
    assert problem(path).endswith("('general.alignment' is thirty-two)")


def test_a_format_that_the_package_does_not_know_is_named(file):
    """The catalog may know it, so that its bytes can be counted."""
    listed = read_gguf(file)
    tensor = replace(listed.tensors["token_embd.weight"], kind=999)
    unknown = replace(listed, tensors={"token_embd.weight": tensor})
    with pytest.raises(InputError, match="is of format 999, which cannot be dequantised here"):
        unknown.read("token_embd.weight")


def test_flipped_bytes_in_the_header_never_escape_as_another_error(file):
    whole = file.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(150):
        content = bytearray(whole)
        for at in rng.integers(4, 1500, size=4):
            content[at] = rng.integers(256)
        file.write_bytes(content)
        problem(file)  # a string, whatever it says


def test_another_architecture_is_refused_by_name(tmp_path):
    path = written(tmp_path / "q.gguf", tensors(), "qwen2")
    assert problem(path).endswith("its architecture is 'qwen2'; only 'llama' can be executed")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"llama__expert_count": 8}, "mixture of experts"),
        ({"llama__rope__scaling__type": "yarn"}, "scales RoPE"),
    ],
)
def test_what_cannot_be_executed_is_refused(tmp_path, fields, words):
    assert words in problem(written(tmp_path / "x.gguf", tensors(), **fields))


def test_a_missing_an_extra_and_a_misshapen_tensor_are_named(tmp_path):
    parts = tensors()
    lost = {name: array for name, array in parts.items() if name != "blk.1.ffn_up.weight"}
    assert problem(written(tmp_path / "a.gguf", lost)).endswith(
        "has no tensor 'blk.1.ffn_up.weight'"
    )
    bias = {**parts, "blk.0.attn_q.bias": np.zeros(32, np.float32)}
    assert "tensor 'blk.0.attn_q.bias' is of no use" in problem(written(tmp_path / "b.gguf", bias))
    wrong = {**parts, "blk.0.attn_k.weight": np.zeros((32, 32), np.float32)}
    assert "is (32, 32), not (16, 32)" in problem(written(tmp_path / "c.gguf", wrong))


def test_a_model_larger_than_the_machine_is_refused_with_both_numbers(file, monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**16}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    with pytest.raises(InputError, match=r"needs about 1\.00 GiB in float32, .* has 256"):
        load_gguf(gguf_model(file))


def test_a_drawn_model_has_no_tokenizer(tiny):
    with pytest.raises(InputError, match="model 'tiny' has no tokenizer"):
        tokenizer_of(tiny)


def test_a_tokenizer_of_another_kind_is_refused(file):
    with pytest.raises(InputError, match="only byte-level BPE"):
        Tokenizer(read_gguf(file))
