"""Experiments as data: frozen models, read from YAML with file:line:col errors."""

from __future__ import annotations

from wastesim.config.experiment import Experiment
from wastesim.config.load import Override, check_document, load_document
from wastesim.config.validation import Check
from wastesim.config.yaml_reader import Document, dump_yaml, read_yaml

__all__ = [
    "Check",
    "Document",
    "Experiment",
    "Override",
    "check_document",
    "dump_yaml",
    "load_document",
    "read_yaml",
]
