"""What is asked, and the numbers that answer it; no text, no options.

Everything is per rank unless it says otherwise: ranks hold the same blocks, so the rank with the
least memory decides for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from wastesim.catalog.activations import activation_bytes
from wastesim.catalog.budget import Budget, kv_budget
from wastesim.catalog.engines import Engine
from wastesim.catalog.fit import Fit, Load, fit, longest, pool_of, request_bytes
from wastesim.catalog.kv import (
    fixed_bytes_per_request,
    growing_bytes_per_token,
    kv_bytes_per_request,
    kv_bytes_per_token,
)
from wastesim.catalog.parallel import aggregate_requests, rank_weights_bytes, stage
from wastesim.catalog.weights import weights_bytes
from wastesim.config.hardware import ModelGeometry

#: The types that the summary compares.
COMPARED = ("float16", "fp8", "int8", "int8_head", "q8_0", "int4", "int4_g32_zp", "q4_0")


@dataclass(frozen=True)
class Question:
    """A model on a card, by an engine's conventions.

    `context` is the length of the requests that are asked about, `concurrency` their number.
    """

    model: ModelGeometry
    card_bytes: int
    engine: Engine
    context: int
    concurrency: int
    max_model_len: int
    share: float
    overhead_bytes: int
    gpu: str = "inline"
    kv_cache_dtype: str = "auto"
    tp: int = 1
    pp: int = 1
    dp: int = 1
    max_num_batched_tokens: int | None = None
    async_scheduling: bool = False
    hybrid: bool = True
    kv_cache_memory_bytes: int | None = None


@dataclass(frozen=True)
class Answer:
    """What follows from a question; every number is computed once, by `catalog`."""

    question: Question

    @cached_property
    def rank(self) -> ModelGeometry:
        """The layers of one rank."""
        return stage(self.question.model, self.question.pp)

    @cached_property
    def weights_bytes(self) -> int:
        """Weights on one rank."""
        q = self.question
        return rank_weights_bytes(weights_bytes(q.model), q.tp, q.pp)

    @cached_property
    def bytes_per_token(self) -> int:
        """One token in every layer of a rank that stores tokens."""
        return kv_bytes_per_token(self.rank, self.question.kv_cache_dtype, self.question.tp)

    @cached_property
    def growing_bytes_per_token(self) -> int:
        """One more token, once every window is full."""
        return growing_bytes_per_token(self.rank, self.question.kv_cache_dtype, self.question.tp)

    @cached_property
    def fixed_bytes(self) -> int:
        """What a sequence takes however short it is."""
        return fixed_bytes_per_request(self.rank, self.question.kv_cache_dtype, self.question.tp)

    @cached_property
    def budget(self) -> Budget:
        """The memory of a rank; ConfigError when nothing is left for the cache."""
        q = self.question
        return kv_budget(
            q.card_bytes,
            q.share,
            self.weights_bytes,
            bytes_per_token=self.bytes_per_token or self.fixed_bytes,
            overhead_bytes=q.overhead_bytes,
            kv_cache_memory_bytes=q.kv_cache_memory_bytes,
            share_of=q.engine.share_of,
        )

    @cached_property
    def load(self) -> Load:
        """What the engine is asked to hold."""
        q = self.question
        return Load(
            self.rank,
            q.max_model_len,
            q.kv_cache_dtype,
            q.tp,
            q.max_num_batched_tokens,
            q.async_scheduling,
            q.hybrid,
        )

    @cached_property
    def fit(self) -> Fit:
        """Units, and requests of `max_model_len`, of one replica."""
        return fit(self.question.engine, self.load, self.budget.kv_bytes)

    @cached_property
    def context_fit(self) -> Fit:
        """The same for requests of `context`."""
        load = replace(self.load, max_model_len=self.question.context)
        return fit(self.question.engine, load, self.budget.kv_bytes)

    @property
    def log_line(self) -> str | None:
        """What vLLM prints when it starts; None for other engines."""
        engine = self.question.engine
        if engine.windows != "grouped":
            return None
        pool = pool_of(engine, self.load, self.budget.kv_bytes)
        return pool.log_line("0.11" if engine.name == "vllm-0.11" else "0.33")

    @property
    def full_length_requests(self) -> int:
        """Requests of `max_model_len` over all replicas."""
        return aggregate_requests(self.fit.full_length_requests, self.question.dp)

    @property
    def requests_of_context(self) -> int:
        """Requests of `context` over all replicas."""
        return aggregate_requests(self.context_fit.full_length_requests, self.question.dp)

    @cached_property
    def largest_max_model_len(self) -> int:
        """The longest request that fits alone, at most what the model was made for."""
        found = longest(self.question.engine, self.load, self.budget.kv_bytes)
        limit = self.question.model.max_model_len
        return found if limit is None else min(found, limit)

    @property
    def request_bytes(self) -> int:
        """Bytes of one request of `context` on a rank, in the engine's units."""
        return request_bytes(self.question.engine, self.load, self.question.context)

    @property
    def exact_request_bytes(self) -> int:
        """The same without units, windows at their length: what attention needs."""
        q = self.question
        return kv_bytes_per_request(self.rank, q.context, q.kv_cache_dtype, q.tp)

    @property
    def asked_bytes(self) -> int:
        """`concurrency` requests of `context` on one replica's rank."""
        per_replica = -(-self.question.concurrency // self.question.dp)
        return per_replica * self.request_bytes

    @property
    def fits(self) -> bool:
        """Whether what was asked about fits."""
        return self.question.concurrency <= self.requests_of_context

    @property
    def missing_bytes(self) -> int:
        """Bytes that a rank lacks for what was asked about; 0 when it fits."""
        return max(0, self.asked_bytes - self.budget.kv_bytes)

    @property
    def kv_share(self) -> float:
        """Cache over weights and cache, for what was asked about."""
        return self.asked_bytes / (self.asked_bytes + self.weights_bytes)

    @property
    def tokens_beyond_weights(self) -> float:
        """Cached tokens from which on the cache is larger than the weights."""
        return self.weights_bytes / (self.bytes_per_token or 1)

    def activation_bytes(self) -> int:
        """Estimated activation peak of a step on a rank."""
        q = self.question
        batched = q.max_num_batched_tokens or q.engine.batched_tokens
        return activation_bytes(q.model, batched, q.tp)

    def with_dtype(self, dtype: str) -> Answer:
        """The same question with another type of cache."""
        return Answer(replace(self.question, kv_cache_dtype=dtype))


def answer(question: Question) -> Answer:
    """The answer; ConfigError with the numbers when the configuration is impossible."""
    found = Answer(question)
    _ = found.budget
    return found
