"""How the workloads of `workloads/` are made, so that each can be made again byte by byte.

`make_shipped(data, target)` needs a folder with the sources: `traces/`, `quantiles/` and
`facts/trace_stats.csv`.  None of their rows go into the workloads.
"""

from __future__ import annotations

import ast
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wastesim.config.distributions import Quantiles
from wastesim.config.lengths import Joint, Marginals, Provenance, WorkloadFile
from wastesim.workload.law_tables import read_quantiles, write_quantiles
from wastesim.workload.remake import Pairing, paired, with_mean
from wastesim.workload.tables import make_table, write_table, write_workload, write_yaml

_AZURE = (
    "Azure LLM inference trace 2023, {} service (Azure Public Dataset; Patel et al., Splitwise)"
)
_AZURE_LICENCE = "CC-BY-4.0, Microsoft Azure; this table has quantiles computed from it, no rows"
_FACTS = "facts computed from a published trace, no rows"
_APACHE = "Apache-2.0; this table has quantiles computed from it, no rows"


@dataclass(frozen=True)
class Recipe:
    """A joint table made from a trace's rows."""

    trace: str
    title: str
    source: str
    licence: str
    max_total: int | None = None
    bins: int = 32


RECIPES = {
    "sharegpt": Recipe(
        "sharegpt_opt_lengths.csv",
        "ShareGPT conversations, at most 2,048 tokens each",
        "input and output lengths of the experiments of the PagedAttention paper (SOSP 2023), from"
        " its published artifact; OPT tokenizer",
        "the lengths are published by the paper's authors without a licence; this table has"
        " quantiles computed from them, no rows",
        max_total=2048,
    ),
    "sharegpt-8k": Recipe(
        "sharegpt_8k_filtered_stats_llama2_tokenizer.csv",
        "ShareGPT conversations with their history, at most 8,192 tokens each",
        "project-etalon/etalon, ShareGPT filtered to 8k; Llama 2 tokenizer",
        _APACHE,
        max_total=8192,
        bins=40,
    ),
    "azure-conversation": Recipe(
        "AzureLLMInferenceTrace_conv.csv",
        "Azure conversation service, November 2023",
        _AZURE.format("conversation"),
        _AZURE_LICENCE,
    ),
    "azure-code": Recipe(
        "AzureLLMInferenceTrace_code.csv",
        "Azure code-completion service, November 2023",
        _AZURE.format("code"),
        _AZURE_LICENCE,
    ),
    "mooncake-conversation": Recipe(
        "mooncake_conversation_trace.jsonl",
        "Kimi conversations of the Mooncake trace",
        "kvcache-ai/Mooncake, conversation trace of the FAST 2025 paper; prefix sharing left out",
        _APACHE,
        bins=40,
    ),
}


#: Names of families, the statistics they are fitted to, and the limit of prompt + output.
FAMILIES = {
    "sharegpt": ("sharegpt_sosp23_le2048", 2048),
    "sharegpt-8k": ("etalon_sharegpt_8k", 8192),
    "azure-conversation": ("azure2023_conv", None),
    "azure-code": ("azure2023_code", None),
    "mooncake-conversation": ("mooncake_conversation", None),
    "arxiv-summarization": ("vidur_arxiv_summarization_4k", 4096),
    "deepseek-r1": ("servegen_deepseek_r1", None),
}


def make_shipped(data: Path, target: Path) -> None:
    """Write every shipped workload into the folder `target`."""
    for name, recipe in RECIPES.items():
        write_workload(
            data / "traces" / recipe.trace,
            target / f"{name}.yaml",
            title=recipe.title,
            source=recipe.source,
            licence=recipe.licence,
            max_total=recipe.max_total,
            bins=recipe.bins,
        )
    with (data / "facts" / "trace_stats.csv").open(encoding="utf-8", newline="") as stream:
        stats = {row["name"]: row for row in csv.DictReader(stream)}
    _make_arxiv(data, target, stats["vidur_arxiv_summarization_4k"])
    _make_deepseek(data, target, stats["servegen_deepseek_r1"])
    for name, (source, max_total) in FAMILIES.items():
        _make_family(target, name, stats[source], max_total)


def _make_arxiv(data: Path, target: Path, stats: dict[str, str]) -> None:
    """Marginals are published; how they go together is fitted to two correlations."""
    quantiles = data / "quantiles" / "vidur_arxiv_summarization_4k_1001.csv"
    prompt, output = (read_quantiles(quantiles, column) for column in ("prompt", "output"))
    how = Pairing(max_total=4096, tie=0.3, prefer=5)
    pairs = paired(prompt, output, int(stats["n"]), how)
    write_table(make_table(*pairs, max_total=4096, bins=40), target / "arxiv-summarization.csv")
    title = "arXiv papers and their abstracts, at most 4,096 tokens each"
    source = "microsoft/vidur, arXiv summarization filtered to 4k (per-mille quantiles)"
    made = (
        "wastesim.workload.remake: the published marginals, put together so that no pair exceeds"
        f" 4,096 tokens and both published correlations hold (tie {how.tie:g}, prefer"
        f" {how.prefer}); the rest of the joint distribution is a model"
    )
    lengths = Joint(table="arxiv-summarization.csv", max_total=4096)
    facts = _means(stats) | {
        "live_tokens": round(_live_tokens(stats), 4),
        "max_total_tokens": 4096,
        "spearman": round(float(stats["spearman"]), 4),
    }
    provenance = Provenance(source=source, licence=_FACTS, made=made)
    file = WorkloadFile(title=title, lengths=lengths, provenance=provenance, facts=facts)
    write_yaml(file, target / "arxiv-summarization.yaml")


def _make_deepseek(data: Path, target: Path, stats: dict[str, str]) -> None:
    """Marginals only: nothing is published of how they go together."""
    source = data / "quantiles" / "servegen_deepseek_r1_1001.csv"
    points = {
        name: with_mean(read_quantiles(source, name), float(stats[f"{name}_mean"]))
        for name in ("prompt", "output")
    }
    write_quantiles(points, target / "deepseek-r1.csv")
    file = WorkloadFile(
        title="DeepSeek-R1 service, prompts and outputs drawn independently",
        lengths=Marginals(
            prompt=Quantiles(file="deepseek-r1.csv", column="prompt"),
            output=Quantiles(file="deepseek-r1.csv", column="output"),
        ),
        provenance=Provenance(
            source="alibaba/ServeGen, DeepSeek-R1 clients over one day (per-mille quantiles)",
            licence=_FACTS,
            made="wastesim.workload.remake: the published quantiles and one knot at 999.9 per mille"
            " each, which makes the mean that of the source",
        ),
        facts=_means(stats),
    )
    write_yaml(file, target / "deepseek-r1.yaml")


def _make_family(target: Path, name: str, stats: dict[str, str], max_total: int | None) -> None:
    """The best-fitting families of a trace, for sweeps that move their parameters."""
    sides = {side: _family(stats, side) for side in ("prompt", "output")}
    tied = round(float(stats["spearman"]), 4) if stats["spearman"] else None
    distances = {f"{side}_ks_distance": round(float(stats[f"{side}_best_ks"]), 4) for side in sides}
    file = WorkloadFile(
        title=f"Families fitted to {name}",
        lengths=Marginals.model_validate({**sides, "spearman": tied, "max_total": max_total}),
        provenance=Provenance(
            source=f"{stats['source']} ({int(stats['n']):,} requests)",
            licence=_FACTS,
            made="maximum likelihood, the family of least Kolmogorov-Smirnov distance; no family"
            " fits well, so use this to move parameters and the table for figures",
        ),
        facts=_means(stats) | distances,
    )
    write_yaml(file, target / "families" / f"{name}.yaml")


def _family(stats: dict[str, str], side: str) -> dict[str, Any]:
    kind = stats[f"{side}_best"].replace("negbinom", "negative_binomial")
    most = round(float(stats[f"{side}_max"]))
    return {"kind": kind, **ast.literal_eval(stats[f"{side}_best_params"]), "max": most}


def _means(stats: dict[str, str]) -> dict[str, float | int]:
    """Count and means of the source, as `facts.facts_of` names them."""
    means = {f"{s}_mean_tokens": round(float(stats[f"{s}_mean"]), 4) for s in ("prompt", "output")}
    return {"count": int(stats["n"]), **means}


def _live_tokens(stats: dict[str, str]) -> float:
    """`facts.live_tokens` of a source from its means, deviations and Pearson correlation."""
    (p, dp), (o, do) = (
        (float(stats[f"{side}_mean"]), float(stats[f"{side}_std"])) for side in ("prompt", "output")
    )
    product = float(stats["pearson"]) * dp * do + p * o
    return (product + (o * o + do * do - o) / 2) / o
