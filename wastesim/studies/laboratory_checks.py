"""What a study of the laboratory cannot be measured with, told before anything is measured.

Each finding is the key to point at and a whole sentence: a file's loader puts its place in front.
"""

from __future__ import annotations

from collections.abc import Iterator

from wastesim.catalog.check import check_names
from wastesim.config.equivalence import Equivalence
from wastesim.config.quality import Laboratory
from wastesim.config.validation import describe
from wastesim.config.yaml_reader import KeyPath
from wastesim.errors import ConfigError, Problem

Finding = tuple[KeyPath, str]


def study_problems(study: Laboratory) -> Iterator[Finding]:
    """Everything that keeps a study, whose keys are right one by one, from being measured."""
    if isinstance(study, Equivalence):
        yield from _unknown_models(study)


def refuse(study: Laboratory) -> None:
    """ConfigError with all problems, for a study that did not come from a file."""
    found = [Problem("", text) for _, text in study_problems(study)]
    if found:
        raise ConfigError(found)


def _unknown_models(study: Equivalence) -> Iterator[Finding]:
    """Models of the memory table that the catalog does not have."""
    for index, name in enumerate(study.models):
        for _, text in check_names({"model": name}):
            path = ("models", index)
            yield path, describe(path, text, name)
