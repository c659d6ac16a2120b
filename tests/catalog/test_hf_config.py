"""A Hugging Face `config.json` as a model: read exactly, or refused by the name of the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment
from wastesim.catalog import find_model, read_hf_config, resolve_model
from wastesim.catalog.weights import weights_bytes
from wastesim.errors import ConfigError

#: Llama-3-8B as its file has it.
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
MISTRAL = {"model_type": "mistral", "sliding_window": 4096, "vocab_size": 32000}
QWEN = {
    "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
    "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064,
    "max_position_embeddings": 131072, "sliding_window": 131072, "use_sliding_window": False,
    "max_window_layers": 28,
}  # fmt: skip
QWEN3 = {
    "model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 1024, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
    "max_position_embeddings": 40960, "tie_word_embeddings": True, "sliding_window": None,
}  # fmt: skip
GEMMA2 = {
    "model_type": "gemma2", "num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
    "max_position_embeddings": 8192, "sliding_window": 4096, "tie_word_embeddings": True,
}  # fmt: skip
GEMMA3 = {
    "model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912,
    "vocab_size": 262144, "max_position_embeddings": 131072, "sliding_window": 512,
    "sliding_window_pattern": 6, "tie_word_embeddings": True,
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """`write(**changes)`: the path of Llama's file with changes; None leaves a field out."""

    def file(**changes: Any) -> Path:
        content = {key: value for key, value in {**LLAMA, **changes}.items() if value is not None}
        path = tmp_path / "My-Llama" / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
        return path

    return file


def said(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_hf_config(path)
    return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "llama-3-8b"),
        (MISTRAL | {"max_position_embeddings": 4096}, "mistral-7b-v0.1"),
        (QWEN, "qwen2.5-7b"),
        (QWEN3, "qwen3-0.6b"),
        (GEMMA2, "gemma-2-2b"),
        (GEMMA2 | {"tie_word_embeddings": None}, "gemma-2-2b"),
        (GEMMA3, "gemma-3-1b-it"),
    ],
)
def test_a_file_says_what_the_catalog_says(changes: dict[str, Any], name: str, write: Any) -> None:
    """Geometry, windows and the number of parameters, found on two ways."""
    keys = ("layers", "hidden", "q_heads", "kv_heads", "head_dim", "vocab", "tied_embeddings",
            "ffn", "max_model_len", "params", "window_layers", "window")  # fmt: skip
    read, known = read_hf_config(write(**changes)), find_model(name)
    assert {key: getattr(read, key) for key in keys} == {key: getattr(known, key) for key in keys}


def test_parameters_by_hand(write: Any) -> None:
    """Untied: 2 * 10 * 8 + 3 * (2 * 8 * 2 * 4 + 2 * 8 * 2 * 2 + 3 * 8 * 5); tied: 80 fewer."""
    small = {
        "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 2, "intermediate_size": 5,
    }  # fmt: skip
    assert read_hf_config(write(**small)).params == 160 + 3 * (128 + 64 + 120)
    tied = read_hf_config(write(**small, tie_word_embeddings=True))
    assert tied.params == 80 + 3 * (128 + 64 + 120)


def test_a_model_is_called_as_its_folder_or_its_file(write: Any, tmp_path: Path) -> None:
    path = write()
    assert read_hf_config(path).name == "My-Llama"
    renamed = path.rename(tmp_path / "other.json")
    assert read_hf_config(renamed).name == "other"


def test_a_head_dim_of_its_own_wins(write: Any) -> None:
    model = read_hf_config(write(head_dim=64))
    assert model.head_dim == 64
    assert "head_dim" not in model.note


def test_what_the_library_fixes_for_a_type_is_said(write: Any) -> None:
    model = read_hf_config(write(num_key_value_heads=None))
    assert (model.kv_heads, model.head_dim) == (32, 128)
    assert "no head_dim: hidden_size / num_attention_heads" in model.note
    assert "no num_key_value_heads: every query head has its own" in model.note


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        (MISTRAL, 32),
        (MISTRAL | {"sliding_window": None}, 0),
        (QWEN | {"use_sliding_window": True, "max_window_layers": 21}, 7),
        (QWEN | {"use_sliding_window": True, "max_window_layers": 28}, 0),
        (GEMMA2 | {"num_hidden_layers": 3}, 2),
        (GEMMA3 | {"num_hidden_layers": 5}, 5),
        (MISTRAL | {"num_hidden_layers": 3, "layer_types":
            ["sliding_attention", "full_attention", "sliding_attention"]}, 2),
        (MISTRAL | {"num_hidden_layers": 1, "layer_types": ["full_attention"]}, 0),
    ],
)  # fmt: skip
def test_windows_are_counted_as_each_type_places_them(
    changes: dict[str, Any], layers: int, write: Any
) -> None:
    model = read_hf_config(write(**changes))
    assert model.window_layers == layers
    assert (model.window is None) == (layers == 0)


@pytest.mark.parametrize(
    ("changes", "bytes_each"),
    [
        ({"torch_dtype": "float32"}, 4),
        ({"torch_dtype": "bfloat16"}, 2),
        ({"torch_dtype": None, "dtype": "float32"}, 4),
        ({"torch_dtype": None}, 2),
        ({"quantization_config": {"quant_method": "fp8"}}, 1),
    ],
)
def test_weights_have_the_type_of_the_file(
    changes: dict[str, Any], bytes_each: int, write: Any
) -> None:
    model = read_hf_config(write(**changes))
    assert weights_bytes(model) == model.params * bytes_each


@pytest.mark.parametrize(
    "field",
    ["num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "vocab_size",
     "max_position_embeddings"],
)  # fmt: skip
def test_a_missing_field_is_named(field: str, write: Any) -> None:
    assert said(write(**{field: None})) == [f"'{field}' is required"]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        (QWEN3 | {"head_dim": None}, ["'head_dim' is required"]),
        (MISTRAL | {"num_key_value_heads": None}, ["'num_key_value_heads' is required"]),
        (GEMMA3 | {"sliding_window_pattern": None}, ["'sliding_window_pattern' is required"]),
        ({"hidden_size": None, "vocab_size": "many", "num_hidden_layers": 0},
         ["'num_hidden_layers' must be a whole number >= 1 (got 0)", "'hidden_size' is required",
          "'vocab_size' must be a whole number >= 1 (got 'many')"]),
        ({"vocab_size": True}, ["'vocab_size' must be a whole number >= 1 (got True)"]),
        ({"num_key_value_heads": 5},
         ["'num_key_value_heads' must divide num_attention_heads, which is 32 (got 5)"]),
        ({"hidden_size": 4100},
         ["'head_dim' is required: hidden_size 4100 is no multiple of num_attention_heads 32"]),
        ({"tie_word_embeddings": "no"}, ["'tie_word_embeddings' must be true or false (got 'no')"]),
        ({"torch_dtype": "int3"},
         ["'torch_dtype' must be float32, float16 or bfloat16 (got 'int3')"]),
        (MISTRAL | {"layer_types": ["linear_attention"] * 32},
         ["'layer_types' must be 32 times full_attention or sliding_attention"]),
        ({"quantization_config": {"quant_method": "awq"}},
         ["'quantization_config' of method 'awq' cannot be sized: describe the model inline, with"
          " its 'weights' in bytes"]),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_all_at_once(
    changes: dict[str, Any], problems: list[str], write: Any
) -> None:
    assert said(write(**changes)) == problems


@pytest.mark.parametrize("kind", [None, 3])
def test_a_file_without_a_type_is_refused(kind: object, write: Any) -> None:
    (line,) = said(write(model_type=kind))
    assert line.startswith("'model_type' must be text, such as llama, mistral, qwen2,")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "1:2: is not valid JSON: Expecting property name enclosed in double quotes"),
        ("", "1:1: is not valid JSON: Expecting value"),
        ("[1]", " must be a JSON object, as config.json of a model is"),
        ("[" * 100_000, " is not valid JSON"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(
    content: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        read_hf_config(path)
    assert str(caught.value) == f"{path}:{problem}"


EXPERIMENT = """\
model: My-Llama/config.json
gpu: a100-sxm-40gb
workload: {lengths: sharegpt, num_requests: 20}
server: {max_model_len: 2048}
"""


def test_the_path_in_an_experiment_is_relative_to_the_file(write: Any, tmp_path: Path) -> None:
    write()
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    model = load_experiment(tmp_path / "e.yaml").model
    assert model == read_hf_config(tmp_path / "My-Llama" / "config.json")


def test_the_saved_experiment_does_not_need_the_file(write: Any, tmp_path: Path) -> None:
    path = write()
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    before = load_experiment(tmp_path / "e.yaml")
    path.rename(tmp_path / "moved.json")
    assert load_experiment(before.to_tree()) == before
    assert str(tmp_path) not in str(before.to_tree())


def test_the_digest_depends_on_what_the_file_says(write: Any, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    digests = set()
    for layers in (32, 33):
        write(num_hidden_layers=layers)
        digests.add(load_experiment(tmp_path / "e.yaml").digest)
    assert len(digests) == 2


def test_a_mistake_in_the_file_is_reported_where_the_experiment_names_it(
    write: Any, tmp_path: Path
) -> None:
    path = write(hidden_size=None, vocab_size=None)
    source = tmp_path / "e.yaml"
    source.write_text(EXPERIMENT.replace("2048", "0"))
    with pytest.raises(ConfigError) as caught:
        load_experiment(source)
    assert str(caught.value).splitlines() == [
        f"{source}:1:1: 'model' must be the config.json of a model, but 'hidden_size' is required;"
        f" 'vocab_size' is required (got {_short(str(path))})",
        f"{source}:4:10: 'server.max_model_len' must be >= 1 (got 0)",
    ]


def _short(text: str) -> str:
    return repr(text) if len(repr(text)) <= 60 else f"{repr(text)[:59]}…"


def test_a_missing_file_is_reported_like_any_other_path(tmp_path: Path) -> None:
    source = tmp_path / "e.yaml"
    source.write_text(EXPERIMENT)
    with pytest.raises(ConfigError, match=r"e\.yaml:1:1: 'model' must be the config\.json of a"):
        load_experiment(source)


def test_a_model_of_an_organisation_is_a_name_and_no_path(tmp_path: Path) -> None:
    source = tmp_path / "e.yaml"
    source.write_text(EXPERIMENT.replace("My-Llama/config.json", "meta-llama/Meta-Llama-3-8B"))
    assert load_experiment(source).model == "meta-llama/Meta-Llama-3-8B"


def test_a_path_resolves_to_its_model(write: Any) -> None:
    path = write()
    assert resolve_model(str(path)) == read_hf_config(path)
