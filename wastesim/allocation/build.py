"""From a policy's description to a policy over a pool."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from wastesim.allocation.base import ESSENTIAL, missing
from wastesim.allocation.blocks import Blocks
from wastesim.allocation.buddy import Buddy
from wastesim.allocation.claims import Claim, Declared, Doubling, Hinted, KnownOnly, WholeContext
from wastesim.allocation.freelist import RULES, FreeSpans
from wastesim.allocation.guard import guarded, told
from wastesim.allocation.protocol import Policy
from wastesim.allocation.slots import Slots
from wastesim.allocation.spans import OneSpan
from wastesim.config.policy import ForeignPolicy
from wastesim.config.policy import Policy as PolicyConfig
from wastesim.errors import ConfigError, WastesimError

#: Cells beyond which sums over a run leave 64 bits, and pieces that a list of them can name.
MOST_CELLS, MOST_PIECES = 2**40, 5 * 10**7


@dataclass(frozen=True)
class Pool:
    """The memory that a policy hands out, and the sizes that it is cut by."""

    capacity_cells: int
    max_model_len: int
    block_cells: int
    #: Bytes of one cell in one layer's buffer of keys (or of values).
    tensor_bytes_per_cell: int
    windows: tuple[int | None, ...] = (None,)
    max_in_flight_tokens: int = 0


def build_policy(config: PolicyConfig | ForeignPolicy, pool: Pool) -> Policy:
    """The policy; ConfigError when a class cannot be loaded or the pool cannot be cut so."""
    _check_size(pool.capacity_cells, MOST_CELLS, "cells")
    if isinstance(config, ForeignPolicy):
        return _foreign(config, pool)
    if config.place == "slots":
        _check_size(pool.capacity_cells // pool.max_model_len, MOST_PIECES, "slots")
        return Slots(config.name, pool.capacity_cells, pool.max_model_len)
    if config.place == "divided":
        return _divided(config, pool)
    claim = _claim(config, pool.max_model_len)
    if config.place in ("blocks", "pages"):
        return _blocks(config, claim, pool)
    if config.place == "buddy":
        space = _buddy(config, pool)
        return OneSpan(config.name, claim, space, space.round_up)
    return OneSpan(config.name, claim, FreeSpans(pool.capacity_cells, RULES[config.place]))


def block_cells(config: PolicyConfig | ForeignPolicy, pool: Pool) -> int:
    """Cells of the unit that a paged policy hands out; 1 for all others."""
    if isinstance(config, ForeignPolicy) or config.place not in ("blocks", "pages"):
        return 1
    if config.place == "blocks":
        return config.block_size or pool.block_cells
    cells = config.page_size // pool.tensor_bytes_per_cell
    if not cells:
        raise ConfigError(
            f"'server.policy.page_size' must hold a cell of {pool.tensor_bytes_per_cell} B"
            f" (got {config.page_size} B)"
        )
    return cells


def _check_size(number: int, most: int, what: str) -> None:
    """ConfigError for a pool of so many cells, slots, blocks or chunks that no run can hold it."""
    if number > most:
        raise ConfigError(
            f"the pool of keys and values must have at most {most:,} {what} (got {number:,}):"
            " lower 'server.kv_cache_memory_bytes', 'server.num_gpu_blocks_override' or the gpu's"
            " memory, or hand out larger pieces"
        )


def _divided(config: PolicyConfig, pool: Pool) -> Slots:
    """Equal parts; ConfigError when they would have no cell: every request would be too long."""
    slots, cells = config.n_parallel, pool.capacity_cells
    if slots > cells:
        raise ConfigError(
            f"'server.policy.n_parallel' must be <= {cells:,}, the cells of the pool that its slots"
            f" divide (got {slots:,})"
        )
    _check_size(slots, MOST_PIECES, "slots")
    return Slots(config.name, cells, cells // slots, slots)


def _blocks(config: PolicyConfig, claim: Claim, pool: Pool) -> Blocks:
    cells = block_cells(config, pool)
    _check_size(pool.capacity_cells // cells, MOST_PIECES, "blocks")
    return Blocks(
        config.name,
        claim,
        pool.capacity_cells,
        cells,
        pool.max_model_len,
        pool.windows,
        pool.max_in_flight_tokens,
    )


def _buddy(config: PolicyConfig, pool: Pool) -> Buddy:
    """By default a chunk of any claim's size exists: `max_model_len` rounded up."""
    granule = config.granule_tokens
    granules = -(-pool.max_model_len // granule)
    whole = config.largest_tokens or granule << (granules - 1).bit_length()
    _check_size(pool.capacity_cells // max(whole, granule), MOST_PIECES, "chunks")
    return Buddy(pool.capacity_cells, granule, whole)


def _claim(config: PolicyConfig, max_model_len: int) -> Claim:
    if config.claim == "max_model_len":
        return WholeContext(max_model_len)
    if config.claim == "max_tokens":
        return Declared(max_model_len)
    if config.claim == "prompt":
        return KnownOnly(max_model_len)
    if config.claim == "doubling":
        return Doubling(max_model_len, config.start_tokens)
    return Hinted(max_model_len, may_miss=config.claim == "predicted")


def _foreign(config: ForeignPolicy, pool: Pool) -> Policy:
    module, _, name = config.path.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"'server.policy' {config.path!r} cannot be loaded ({error}); it must be"
            " 'package.module:ClassName' of something importable"
        ) from error
    except Exception as error:  # a mistake in the module itself
        raise ConfigError(
            f"'server.policy' {config.path!r} cannot be loaded: importing it raised {told(error)}"
        ) from error
    try:
        policy: Policy = found(pool, **config.options)
    except WastesimError:
        raise
    except Exception as error:
        reason = error if isinstance(error, TypeError) else told(error, found)
        raise ConfigError(f"'server.policy' {config.path!r} cannot be made: {reason}") from error
    complete = _complete(policy, config.path)
    if not 0 <= complete.capacity_cells <= pool.capacity_cells:
        raise ConfigError(
            f"'server.policy' {config.path!r}: capacity_cells must be the pool's"
            f" {pool.capacity_cells} or less (got {complete.capacity_cells!r})"
        )
    return guarded(complete, config.path)


def _complete(policy: Policy, path: str) -> Policy:
    """The policy, if it has every verb; ConfigError naming those that it lacks."""
    lacking = missing(policy)
    if lacking:
        raise ConfigError(
            f"'server.policy' {path!r} must have {', '.join(lacking)}; a class that inherits from"
            f" wastesim.allocation.PolicyBase writes {', '.join(ESSENTIAL)} itself, and grow if"
            " requests grow"
        )
    return policy
