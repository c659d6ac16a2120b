"""What the engine calls: requests are placed, stepped, moved and released here.

The engine says where a request lives and how many of its tokens a tick computes; the decoder
computes them at those addresses.  It never checks that placements are disjoint: two requests on
one cell *should* spoil each other's tokens, that is what the decode is for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wastesim.address import Placement
from wastesim.config.decode import CacheFormat
from wastesim.decode.addressing import Addresses
from wastesim.decode.arena import FLOAT32, Arena
from wastesim.decode.arrays import Ints
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.model import Transformer, greedy
from wastesim.decode.models import weights_of
from wastesim.decode.recent import Recent
from wastesim.decode.reference import Verification, check_tokens
from wastesim.decode.scratch import Scratch
from wastesim.decode.step import Part, Step
from wastesim.errors import AllocationError
from wastesim.request import Request
from wastesim.rng import Streams


class PageCount(NamedTuple):
    """Resident memory of the arena, as the system and as the ledger count it."""

    resident_bytes: int
    ledger_bytes: int


@dataclass(slots=True, eq=False)
class _Sequence:
    """One request's tokens and where they are stored."""

    tokens: list[int]  # prompt, then generated
    prompt_tokens: int
    stored: int = 0  # tokens whose K and V are in the arena
    addresses: Addresses | None = None  # None while waiting or evicted
    recent: Recent | None = None  # its newest tokens exactly, where the cache keeps them so


class _Item(NamedTuple):
    """What one step does for one request."""

    request_id: int
    sequence: _Sequence
    part: Part


class Decoder:
    """A transformer decoding every placed request in one arena."""

    needs_addresses = True

    def __init__(
        self,
        model: DecodeModel,
        capacity_cells: int,
        streams: Streams,
        how: CacheFormat = FLOAT32,
        *,
        keep_tokens: bool = True,
    ) -> None:
        self.model = model
        self._how = how
        self.arena = Arena(model, capacity_cells, how)
        self.tokens_decoded = 0  # sampled
        self.tokens_computed = 0  # stored: prompts, recomputations and decodes
        self.wall_s = 0.0  # spent in `step`
        self._transformer = Transformer(weights_of(model))
        self._scratch = Scratch()
        self._streams = streams
        self._keep_tokens = keep_tokens
        self._sequences: dict[int, _Sequence] = {}
        self._finished: dict[int, tuple[int, Ints]] = {}  # prompt tokens, all tokens

    def place(
        self, request: Request, placement: Placement, prompt: Sequence[int] | None = None
    ) -> None:
        """Admit a request, or admit it again after `evict`; it starts with nothing stored.

        Its prompt is drawn where none is given.
        """
        sequence = self._sequences.get(request.request_id) or self._draw(request, prompt)
        if sequence.addresses is not None:
            raise AllocationError(f"request {request.request_id} is placed already")
        sequence.addresses = Addresses(self.arena, placement)
        if self._how.recent_tokens and not self._how.plain:
            sequence.recent = Recent(self.model, self._how)
        self._sequences[request.request_id] = sequence

    def extend(self, request_id: int, placement: Placement) -> None:
        """Take over a placement with spans appended; nothing is copied."""
        self._placed(request_id)[1].extend(placement)

    def move(self, request_id: int, placement: Placement) -> int:
        """Copy a request to a new placement and release the old; returns the tokens copied."""
        sequence, old = self._placed(request_id)
        new = Addresses(self.arena, placement)
        if new.cells < sequence.stored:
            raise AllocationError(
                f"request {request_id} has {sequence.stored} tokens stored and was moved to "
                f"{new.cells} cells"
            )
        self.arena.copy(old.placement, placement, sequence.stored)
        sequence.addresses = new
        return sequence.stored

    def step(self, work: Sequence[tuple[int, int]]) -> dict[int, int]:
        """Compute n tokens of each ``(request_id, n)``, in one batch.

        A request with all its known tokens computed samples one more: returned by request.
        """
        if not work:
            return {}
        began = time.perf_counter()
        sampled = self._step(work)
        self.tokens_decoded += len(sampled)
        self.tokens_computed += sum(count for _, count in work)
        self.wall_s += time.perf_counter() - began
        return sampled

    def release(self, request_id: int) -> int:
        """Give a finished request's memory back; returns the cells found written."""
        written = self.evict(request_id)
        self.forget(request_id)
        return written

    def forget(self, request_id: int) -> None:
        """A request without memory will not come back; one never placed is not known anyway."""
        sequence = self._sequences.pop(request_id, None)
        if sequence is not None and self._keep_tokens:
            tokens = np.array(sequence.tokens, np.int64)
            self._finished[request_id] = (sequence.prompt_tokens, tokens)

    def evict(self, request_id: int) -> int:
        """Give a request's memory back but keep its tokens; returns the cells found written."""
        sequence, addresses = self._placed(request_id)
        written = self.arena.count_written(addresses.placement)
        self.arena.release(addresses.placement)
        sequence.addresses = sequence.recent = None
        sequence.stored = 0
        return written

    def count_written(self, request_id: int) -> int:
        """Cells of the request's placement that the arrays show as written."""
        return self.arena.count_written(self._placed(request_id)[1].placement)

    def stored(self, request_id: int) -> int:
        """Tokens of the request whose K and V were computed and are held."""
        return self._sequences[request_id].stored

    def pages(self) -> PageCount | None:
        """Resident bytes against the page-rounded ledger; None where the system cannot tell."""
        resident = self.arena.resident_bytes()
        if resident is None:
            return None
        held = (
            (sequence.addresses.placement, sequence.stored)
            for sequence in self._sequences.values()
            if sequence.addresses is not None
        )
        return PageCount(resident, self.arena.page_ledger_bytes(held))

    @property
    def recent_bytes(self) -> int:
        """Bytes beside the arena: the newest tokens that are kept in full precision too."""
        return sum(s.recent.nbytes for s in self._sequences.values() if s.recent is not None)

    def prompt(self, request_id: int) -> tuple[int, ...]:
        """Token ids of the request's prompt."""
        prompt_tokens, tokens = self._tokens(request_id)
        return tuple(tokens[:prompt_tokens])

    def generated(self, request_id: int) -> tuple[int, ...]:
        """Token ids generated so far, also after release (unless tokens are not kept)."""
        prompt_tokens, tokens = self._tokens(request_id)
        return tuple(tokens[prompt_tokens:])

    def verify(self, request_id: int) -> Verification:
        """Compare the request's generated tokens with the uncached reference."""
        weights = self._transformer.weights
        return check_tokens(weights, self.prompt(request_id), self.generated(request_id))

    def _step(self, work: Sequence[tuple[int, int]]) -> dict[int, int]:
        batch = self._batch(work)
        step = Step(self.arena, [item.part for item in batch], self._scratch)
        last_rows = np.cumsum([item.part.count for item in batch]) - 1  # [B]
        whole = [i for i, item in enumerate(batch) if item.part.stop == len(item.sequence.tokens)]
        logits = self._transformer.forward(*_inputs(batch), last_rows[whole], step.attend)
        for item in batch:
            item.sequence.stored = item.part.stop
        sampled = {}
        for i, token in zip(whole, greedy(logits).tolist(), strict=True):
            batch[i].sequence.tokens.append(token)
            sampled[batch[i].request_id] = token
        return sampled

    def _batch(self, work: Sequence[tuple[int, int]]) -> list[_Item]:
        """The work, found possible, decodes first as `Step` wants them."""
        if len({request_id for request_id, _ in work}) < len(work):
            raise AllocationError("a request appears twice in one step")
        batch = [self._item(request_id, count) for request_id, count in work]
        return sorted(batch, key=lambda item: item.part.count > 1)

    def _item(self, request_id: int, count: int) -> _Item:
        sequence, addresses = self._placed(request_id)
        stop, known = sequence.stored + count, len(sequence.tokens) - sequence.stored
        if stop > addresses.cells:
            raise AllocationError(
                f"request {request_id} would write token {stop} into {addresses.cells} cells"
            )
        if not 1 <= count <= known:
            raise AllocationError(
                f"request {request_id} has {known} tokens to compute (got {count})"
            )
        return _Item(request_id, sequence, Part(addresses, sequence.stored, count, sequence.recent))

    def _placed(self, request_id: int) -> tuple[_Sequence, Addresses]:
        sequence = self._sequences.get(request_id)
        if sequence is None or sequence.addresses is None:
            raise AllocationError(f"request {request_id} has no placement")
        return sequence, sequence.addresses

    def _draw(self, request: Request, prompt: Sequence[int] | None) -> _Sequence:
        if prompt is not None:
            return _Sequence(list(prompt), len(prompt))
        rng = self._streams.tokens(request.request_id)
        drawn = rng.integers(self.model.vocab, size=request.prompt_tokens).tolist()
        return _Sequence(drawn, request.prompt_tokens)

    def _tokens(self, request_id: int) -> tuple[int, list[int]]:
        sequence = self._sequences.get(request_id)
        if sequence is not None:
            return sequence.prompt_tokens, sequence.tokens
        prompt_tokens, tokens = self._finished[request_id]
        return prompt_tokens, tokens.tolist()


def _inputs(batch: Sequence[_Item]) -> tuple[Ints, Ints]:
    """Token ids and positions ``[N]`` of the tokens to compute."""
    tokens: list[int] = []
    positions: list[int] = []
    for _, sequence, part in batch:
        tokens += sequence.tokens[part.first : part.stop]
        positions += part.tokens
    return np.array(tokens, np.int64), np.array(positions, np.int64)
