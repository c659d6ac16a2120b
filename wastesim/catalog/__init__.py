"""Models and GPUs as data files, and what follows from their numbers: each formula once.

============== ==============================================================================
`models`       `find_model`, `resolve_model`: rows of `data/models.csv`
`hf_config`    `read_hf_config`: a model from its Hugging Face `config.json`
`gpus`         `find_gpu`, `resolve_gpu`: rows of `data/gpus.csv`
`kv`           bytes of keys and values per token, and which conventions they follow
`weights`      bytes of weights, FLOP per token, the decode floor, machine balance
`budget`       from card bytes to cells, with the arithmetic in words
`names`        how names are matched, and what is near a name that is unknown
============== ==============================================================================
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
