"""Other implementations of the same model, for the benchmark alone: PyTorch and llama.cpp.

They read the file with the `gguf` package's own reader and share no code with wastesim.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

HEADS, KV_HEADS, DIM, EPS, BASE = 9, 3, 64, 1e-5, 100_000.0


def dequantised(path: str) -> dict[str, np.ndarray]:
    """All tensors of a GGUF file as float32."""
    import gguf

    return {
        t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32)
        for t in gguf.GGUFReader(path).tensors
    }


class TorchModel:
    """The textbook's Llama in PyTorch: half-split RoPE, so Q and K are put back in HF's order."""

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        import torch

        torch.set_num_threads(1)
        self.torch = torch
        self.w = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
        self.layers = 1 + max(int(n.split(".")[1]) for n in tensors if n.startswith("blk"))
        for i in range(self.layers):
            for part, heads in (("attn_q", HEADS), ("attn_k", KV_HEADS)):
                w = self.w[f"blk.{i}.{part}.weight"]
                back = w.reshape(heads, DIM // 2, 2, -1).transpose(1, 2).reshape(w.shape)
                self.w[f"blk.{i}.{part}.weight"] = back.contiguous()

    def _norm(self, x: Any, name: str) -> Any:
        return x * self.torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * self.w[name]

    def _rope(self, x: Any, first: int) -> Any:
        torch = self.torch
        frequency = BASE ** (-torch.arange(0, DIM, 2, dtype=torch.float64) / DIM)
        angle = torch.arange(first, first + x.shape[2], dtype=torch.float64)[:, None] * frequency
        cos, sin = (torch.cat([f(angle)] * 2, -1).float() for f in (torch.cos, torch.sin))
        half = torch.cat([-x[..., DIM // 2 :], x[..., : DIM // 2]], -1)
        return x * cos + half * sin

    def forward(self, tokens: Any, cache: Any | None = None, first: int = 0) -> Any:
        """Hidden states of [B, N] tokens; `cache` is [L, 2, B, G, T, D] and is written."""
        torch, w = self.torch, self.w
        x = w["token_embd.weight"][tokens]
        batch, count = tokens.shape
        for i in range(self.layers):
            normed = self._norm(x, f"blk.{i}.attn_norm.weight")
            q, k, v = (
                (normed @ w[f"blk.{i}.{n}.weight"].T).view(batch, count, -1, DIM).transpose(1, 2)
                for n in ("attn_q", "attn_k", "attn_v")
            )
            q, k = self._rope(q, first), self._rope(k, first)
            if cache is not None:
                cache[i, 0, :, :, first : first + count] = k
                cache[i, 1, :, :, first : first + count] = v
                k, v = cache[i, :, :, :, : first + count]
            mixed = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=count > 1, enable_gqa=True
            )
            x = x + mixed.transpose(1, 2).reshape(batch, count, -1) @ (
                w[f"blk.{i}.attn_output.weight"].T
            )
            normed = self._norm(x, f"blk.{i}.ffn_norm.weight")
            gate, up = (normed @ w[f"blk.{i}.ffn_{n}.weight"].T for n in ("gate", "up"))
            x = x + (torch.nn.functional.silu(gate) * up) @ w[f"blk.{i}.ffn_down.weight"].T
        return x

    def logits(self, hidden: Any) -> Any:
        """[..., V]."""
        return self._norm(hidden, "output_norm.weight") @ self.w["token_embd.weight"].T

    def perplexity(self, tokens: list[int]) -> float:
        """Of all tokens but the first."""
        torch = self.torch
        with torch.inference_mode():
            ids = torch.tensor([tokens])
            hidden = self.forward(ids)[0]
            parts = [
                torch.nn.functional.cross_entropy(
                    self.logits(hidden[at : at + 256])[: len(ids[0, at + 1 : at + 257])],
                    ids[0, at + 1 : at + 257],
                    reduction="sum",
                )
                for at in range(0, len(tokens) - 1, 256)
            ]
        return float(np.exp(sum(map(float, parts)) / (len(tokens) - 1)))

    def stepper(self, tokens: list[int], batch: int) -> Any:
        """A function that decodes one more token of `batch` requests."""
        torch = self.torch
        context = len(tokens)
        shape = (self.layers, 2, batch, KV_HEADS, context + 64, DIM)
        cache = torch.zeros(shape)
        with torch.inference_mode():
            self.forward(torch.tensor([tokens]), cache[:, :, :1], 0)
            cache[:, :, 1:, :, :context] = cache[:, :, :1, :, :context]
        only, at = torch.full((batch, 1), tokens[-1]), [context]

        def step() -> None:
            with torch.inference_mode():
                self.logits(self.forward(only, cache, at[0])).argmax(-1)
            at[0] += 1

        return step


def float32_file(source: str, target: Path) -> Path:
    """The same model as an F32 file, for llama.cpp: its quantised products round activations."""
    import gguf

    if target.is_file():
        return target
    reader, writer = gguf.GGUFReader(source), gguf.GGUFWriter(target, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    for name, array in dequantised(source).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


class LlamaCpp:
    """llama.cpp by its Python binding, one thread."""

    def __init__(self, path: Path, context: int) -> None:
        import llama_cpp

        self.inner = llama_cpp.Llama(
            str(path), n_ctx=context, n_batch=512, n_threads=1, n_threads_batch=1,
            logits_all=True, verbose=False, flash_attn=False,
        )  # fmt: skip

    def perplexity(self, tokens: list[int]) -> float:
        """Of all tokens but the first."""
        self.inner.reset()
        self.inner.eval(tokens)
        logits = self.inner.scores[: len(tokens) - 1].astype(np.float64)
        logits -= logits.max(axis=1, keepdims=True)
        nll = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(logits)), tokens[1:]]
        return float(np.exp(nll.mean()))

    def step_s(self, tokens: list[int], rounds: int) -> float:
        """Best time of one more token after `tokens`."""
        self.inner.reset()
        self.inner.eval(tokens)
        best = float("inf")
        for _ in range(rounds):
            began = time.perf_counter()
            self.inner.eval(tokens[-1:])
            best = min(best, time.perf_counter() - began)
        return best
