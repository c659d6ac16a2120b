"""What a study of the laboratory cannot be measured with, told before anything is measured.

Each finding is the key to point at and a whole sentence: a file's loader puts its place in front.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from wastesim.catalog.check import check_names
from wastesim.config.equivalence import Equivalence
from wastesim.config.quality import Laboratory, Quality
from wastesim.config.validation import describe
from wastesim.config.yaml_reader import KeyPath
from wastesim.decode.batch_run import ROUNDS
from wastesim.decode.codecs import codec_for
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.models import decode_model
from wastesim.errors import ConfigError, InputError, Problem
from wastesim.studies.passages import passage_tokens, reads_text
from wastesim.units import format_bytes

Finding = tuple[KeyPath, str]
#: A drawn model has no context of its own; one uncached pass over so many takes about a second.
DRAWN_CONTEXT = 8192
LEAST_BLOCKS = 10  # to draw from: the interval of one block would be a point
LEAST_TOKENS = 512  # of a quality study: fewer say little of windows, and nothing of intervals
_FLOATS_PER_PAIR = 5  # float64 numbers that the reference holds per pair of tokens, at its peak


def study_problems(study: Laboratory) -> Iterator[Finding]:
    """Everything that keeps a study, whose keys are right one by one, from being measured."""
    if isinstance(study, Equivalence):
        model = decode_model(study.model)
        yield from _unknown_models(study)
        too_many = list(_too_many_tokens(study, model))
        yield from too_many or _unusable_passage(study, model, study.tokens_read)
        yield from _too_large_batches(study, model)
    elif isinstance(study, Quality):
        model = decode_model(study.model)
        yield from _unfit_formats(study, model)
        unusable = list(_unusable_passage(study, model, LEAST_TOKENS))
        yield from unusable or _unfit_lengths(study, model)


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


def _unfit_formats(study: Quality, model: DecodeModel) -> Iterator[Finding]:
    """Caches whose format does not divide a head of this model."""
    for index, cell in enumerate(study.cells):
        try:
            codec_for(cell.kv_cache_dtype, model.head_dim)
        except ConfigError as error:
            yield ("cells", index), f"'cells[{index}]': {error}"


def _unusable_passage(study: Laboratory, model: DecodeModel, least: int) -> Iterator[Finding]:
    """A passage that cannot be read, that is too short, or that this model cannot read at all."""
    usual = type(study).model_fields["passage"].default
    if not reads_text(model) and study.passage != usual:
        text = (
            f"cannot be read by {model.name}: its weights are drawn, it has no tokenizer and is"
            " given drawn tokens; leave it out, or take a model that reads text"
        )
        yield ("passage",), describe(("passage",), text, study.passage)
        return
    try:
        passage_tokens(model, study.passage, least, study.seed)
    except InputError as error:
        yield ("passage",), str(error)


def _unfit_lengths(study: Quality, model: DecodeModel) -> Iterator[Finding]:
    """Too few tokens or blocks to say anything of, or more tokens than the model sees."""
    whole = passage_tokens(model, study.passage, LEAST_TOKENS, study.seed)
    read, most = len(whole[: study.max_tokens]), context_of(model)
    if read < LEAST_TOKENS:
        text = f"must be >= {LEAST_TOKENS}"
        yield ("max_tokens",), describe(("max_tokens",), text, study.max_tokens)
    elif read > most:
        yield (
            ("max_tokens",),
            f"'max_tokens' must be <= {most:,}, the tokens that {model.name} sees at once (the"
            f" passage has {len(whole):,})",
        )
    elif study.block_tokens > (read - 1) // LEAST_BLOCKS:  # the first token is not judged
        text = (
            f"must be <= {(read - 1) // LEAST_BLOCKS}: an interval needs {LEAST_BLOCKS} blocks of"
            f" the {read - 1:,} tokens that are judged"
        )
        yield ("block_tokens",), describe(("block_tokens",), text, study.block_tokens)


def context_of(model: DecodeModel) -> int:
    """The most tokens that a model is given at once."""
    return model.context or DRAWN_CONTEXT


def _too_many_tokens(study: Equivalence, model: DecodeModel) -> Iterator[Finding]:
    """More tokens than the model sees, or than the reference's matrix of all pairs has room for."""
    prompt, new, most = study.prompt_tokens, study.new_tokens, context_of(model)
    largest = "prompt_tokens" if prompt >= new else "new_tokens"
    together = f"(got {prompt:,} + {new:,} = {prompt + new:,})"
    needed, present = 8 * _FLOATS_PER_PAIR * (prompt + new) ** 2, _memory()
    if prompt + new > most:
        yield (
            (largest,),
            f"'prompt_tokens' + 'new_tokens' must be <= {most:,}, the tokens that {model.name}"
            f" sees at once {together}",
        )
    elif needed > present:
        yield (
            (largest,),
            f"'prompt_tokens' + 'new_tokens' are too many {together}: the float64 reference would"
            f" need about {format_bytes(needed)} for all pairs of tokens, this machine has"
            f" {format_bytes(present)}",
        )
    if study.batch_context > most:
        text = f"must be <= {most:,}, the tokens that {model.name} sees at once"
        yield ("batch_context",), describe(("batch_context",), text, study.batch_context)


def _too_large_batches(study: Equivalence, model: DecodeModel) -> Iterator[Finding]:
    each = model.kv_bytes_per_cell(4) * (min(study.batch_context, context_of(model)) + ROUNDS + 1)
    present = _memory()
    for index, batch in enumerate(study.batches):
        if batch * each > present:
            path = ("batches", index)
            text = (
                f"must be <= {present // each:,}: each request takes {format_bytes(each)} of cache"
                f" and this machine has {format_bytes(present)}"
            )
            yield path, describe(path, text, batch)


def _memory() -> int:
    """Bytes of memory in this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
