"""Models and GPUs as data files, and what follows from their numbers: each formula once.

=============== =============================================================================
`models`        `find_model`, `resolve_model`: rows of `data/models.csv`, or a model's own file
`hf_config`     `read_hf_config`: a `config.json` (`hf_general`, `hf_layers`, `hf_params`)
`gguf_model`    `read_gguf`: the header of a GGUF file
`gpus`          `find_gpu`, `resolve_gpu`: rows of `data/gpus.csv`
`stored`        bytes that elements take in a type, scales included
`layers`        what one layer of each kind stores on one rank
`kv`            bytes of a token and of a request, in all layers
`weights`       bytes of weights, FLOP per token, the decode floor, machine balance
`activations`   the activation peak of a step
`budget`        from card bytes to the cache's bytes and cells, with the arithmetic in words
`groups`        vLLM's groups of layers, and blocks per request
`pool`          a pool of blocks, and what a server prints of it
`slots`         llama.cpp's contexts and slots
`engines`       conventions of serving engines as values
`fit`           how many requests so many bytes hold, by an engine's conventions
`parallel`      what one rank holds
`names`         how names are matched, and what is near a name that is unknown
=============== =============================================================================
"""

from __future__ import annotations

from wastesim.catalog.budget import Budget, kv_budget, max_full_length_requests
from wastesim.catalog.check import check_names
from wastesim.catalog.gpus import find_gpu, gpu_names, resolve_gpu
from wastesim.catalog.hf_config import read_hf_config
from wastesim.catalog.kv import kv_bytes_per_token
from wastesim.catalog.models import find_model, model_names, resolve_model
from wastesim.catalog.names import nearest

__all__ = [
    "Budget",
    "check_names",
    "find_gpu",
    "find_model",
    "gpu_names",
    "kv_budget",
    "kv_bytes_per_token",
    "max_full_length_requests",
    "model_names",
    "nearest",
    "read_hf_config",
    "resolve_gpu",
    "resolve_model",
]
