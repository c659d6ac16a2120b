"""How vLLM cuts the layers of a model into groups that share one pool of blocks.

Letters: `M` max_model_len, `bs` block size, `I` tokens in flight (`max_num_batched_tokens`,
twice that with asynchronous scheduling), `W` window or chunk.  Blocks of one request::

    ceil(M / bs)                          full attention, latent
    ceil(min(W - 1 + I, M) / bs) + 1      window
    ceil(min(W + I, M) / bs)              chunked
    1                                     state

Layers are bucketed by kind.  The group size is the smallest bucket, or the largest if that is
under 1.5 times the smallest; a bucket is cut into groups of at most that size, as evenly as they
go.  All groups take blocks of the same bytes from one pool.  Measured on vLLM 0.33.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from wastesim.catalog.layers import STORING, layer_fixed_bytes, layer_kinds, layer_token_bytes
from wastesim.config.hardware import LayerKind, ModelGeometry
from wastesim.errors import ConfigError

_EVENLY = 1.5


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share a block table; before `kv_groups` cuts them, all layers of a kind.

    `page_bytes` are those of one block in one layer.
    """

    kind: LayerKind
    layers: int
    block_size: int
    page_bytes: int
    window: int | None = None

    @property
    def block_bytes(self) -> int:
        """Bytes of one block in all its layers."""
        return self.layers * self.page_bytes


def blocks_per_request(group: Group, max_model_len: int, in_flight_tokens: int) -> int:
    """Blocks that a request of `max_model_len` takes in this group at its worst (see above)."""
    if group.kind == "state":
        return 1
    reach, window = max_model_len, group.window
    if group.kind == "window" and window:
        return window_blocks(window, group.block_size, max_model_len, in_flight_tokens)
    if group.kind == "chunked" and window:
        reach = min(window + in_flight_tokens, max_model_len)
    return -(-reach // group.block_size)


def window_blocks(window: int, block_size: int, max_model_len: int, in_flight_tokens: int) -> int:
    """Blocks that a window and the tokens in flight touch at worst: one more where they straddle.

    The simulator's paged policy asks here too; it holds a request that is shorter than this to
    the blocks of its own tokens.
    """
    reach = min(window - 1 + in_flight_tokens, max_model_len)
    return -(-reach // block_size) + 1


def layer_buckets(
    model: ModelGeometry, block_size: int, dtype: str = "auto", tp: int = 1
) -> list[Group]:
    """All layers of each kind, with the bytes of a block in one layer on one rank.

    With recurrent layers the blocks of attention grow until their pages are no smaller than a
    state, and the state is padded to such a page, as vLLM does for hybrid models.
    """
    kinds = [kind for kind in layer_kinds(model) if kind.kind in (*STORING, "state")]
    states = [layer_fixed_bytes(kind, dtype, tp) for kind in kinds if kind.kind == "state"]
    widths = [layer_token_bytes(kind, dtype, tp) for kind in kinds if kind.kind != "state"]
    if states and widths:
        block_size = max(block_size, block_size * ceil(max(states) / (block_size * max(widths))))
    page = max(states, default=0) if not widths else block_size * max(widths)
    return [
        Group(
            kind.kind,
            kind.layers,
            block_size,
            page if kind.kind == "state" else block_size * layer_token_bytes(kind, dtype, tp),
            kind.window,
        )
        for kind in kinds
    ]


def kv_groups(buckets: Sequence[Group], *, hybrid: bool = True) -> list[Group]:
    """The groups of a model's buckets; without the `hybrid` manager windows are full attention.

    ConfigError when pages of different sizes cannot be made equal by whole factors.
    """
    if not hybrid and any(bucket.kind == "full" for bucket in buckets):
        plain = [bucket for bucket in buckets if bucket.kind != "state"]
        states = [bucket for bucket in buckets if bucket.kind == "state"]
        buckets = [*(replace(bucket, kind="full", window=None) for bucket in plain), *states]
    buckets = _merged(buckets)
    if len({(bucket.kind, bucket.window) for bucket in buckets}) == 1:
        return [_uniform(buckets)] if len(buckets) > 1 else list(buckets)
    size = _group_size([bucket.layers for bucket in buckets])
    return [group for bucket in _equal_pages(buckets) for group in _cut(bucket, size)]


def _merged(buckets: Iterable[Group]) -> list[Group]:
    """Buckets that differ in nothing but the number of layers are one."""
    merged: dict[Group, int] = {}
    for bucket in buckets:
        key = replace(bucket, layers=1)
        merged[key] = merged.get(key, 0) + bucket.layers
    return [replace(key, layers=layers) for key, layers in merged.items()]


def _uniform(buckets: Sequence[Group]) -> Group:
    """One kind whose layers differ in width: one group, with the mean page."""
    layers = sum(bucket.layers for bucket in buckets)
    total = sum(bucket.block_bytes for bucket in buckets)
    one = layers if total % layers == 0 else 1
    return replace(buckets[0], layers=one, page_bytes=total // one)


def _group_size(layers: Sequence[int]) -> int:
    smallest, largest = min(layers), max(layers)
    return largest if largest < _EVENLY * smallest else smallest


def _equal_pages(buckets: Sequence[Group]) -> list[Group]:
    """Smaller pages hold more tokens until all pages have the bytes of the largest."""
    largest = max(bucket.page_bytes for bucket in buckets)
    for bucket in buckets:
        if largest % bucket.page_bytes:
            raise ConfigError(
                f"pages of {bucket.page_bytes:,} B ({bucket.kind} layers) and {largest:,} B cannot"
                " share a pool: the larger must be a multiple of the smaller"
            )
    return [
        replace(
            bucket,
            block_size=bucket.block_size * (largest // bucket.page_bytes),
            page_bytes=largest,
        )
        for bucket in buckets
    ]


def _cut(bucket: Group, size: int) -> list[Group]:
    """A bucket as groups of at most `size` layers: every n-th layer goes into the same one."""
    count = -(-bucket.layers // size)
    return [replace(bucket, layers=-(-(bucket.layers - index) // count)) for index in range(count)]
