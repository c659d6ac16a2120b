"""Models that can be executed, by name or by file, and their weights.

`tiny` and `small` are drawn, `smollm2` is fetched once (see `stock`), `PATH.gguf` is yours.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from wastesim.decode import geometry
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.stock import STOCK, stock_path
from wastesim.decode.weights import Weights, seeded_weights
from wastesim.errors import ConfigError, InputError

SUFFIX = ".gguf"


def decode_models() -> tuple[str, ...]:
    """Names of the models that can be executed; a path of a GGUF file is one too."""
    return (*geometry.decode_models(), *STOCK)


def is_file(name: str) -> bool:
    """Whether `name` means a file."""
    return name.lower().endswith(SUFFIX)


def decode_model(name: str) -> DecodeModel:
    """The shape of a model; ConfigError for an unknown name, InputError for an unusable file."""
    if is_file(name):
        return _from_file(Path(name), None)
    if name in STOCK:
        return _from_file(stock_path(name), name)
    if name not in geometry.decode_models():
        known = f"{', '.join(decode_models())} or PATH{SUFFIX}"
        raise ConfigError(f"'model' must be one of {known} (got '{name}'){_nearest(name)}")
    return geometry.decode_model(name)


def weights_of(model: DecodeModel) -> Weights:
    """The weights of a model: drawn, or loaded from its file; once per process."""
    return seeded_weights(model) if model.source is None else _loaded(model)


@cache
def _loaded(model: DecodeModel) -> Weights:
    from wastesim.decode.gguf_weights import load_gguf

    return load_gguf(model)


def _from_file(path: Path, name: str | None) -> DecodeModel:
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"model '{name or path}' needs the extra 'models': pip install 'wastesim[models]'"
        ) from None
    from wastesim.decode.gguf_weights import gguf_model

    return gguf_model(path, name)


def model_problem(name: str) -> str:
    """Why `name` cannot be executed; empty when it can."""
    if not is_file(name) and name not in decode_models():
        return f"must be one of {', '.join(decode_models())} or PATH{SUFFIX}{_nearest(name)}"
    try:
        decode_model(name)
    except (ConfigError, InputError) as error:
        return str(error)
    return ""


def _nearest(name: str) -> str:
    close = get_close_matches(name, decode_models(), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
