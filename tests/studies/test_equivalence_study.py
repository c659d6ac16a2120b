"""`study: equivalence` on a drawn model: identical tokens, counted work, pages, refusals."""

from __future__ import annotations

import json
import re

import pytest

from wastesim import run
from wastesim.config.equivalence import Equivalence
from wastesim.decode.reference import NEAR_TIE, Verification
from wastesim.errors import ConfigError, VerificationError
from wastesim.report.equivalence import words
from wastesim.report.figures.equivalence import pictures
from wastesim.studies import equivalence, equivalence_tables, laboratory_checks
from wastesim.studies.equivalence import demonstrate
from wastesim.studies.equivalence_tables import memory_rows
from wastesim.studies.laboratory import load_laboratory


@pytest.fixture(scope="module")
def summary() -> dict:
    study = Equivalence(model="tiny", prompt_tokens=60, new_tokens=40, batches=(1, 4))
    return demonstrate(study).summary


def test_tokens_are_identical_every_way(summary):
    same = summary["identical"]
    assert same["with_and_without"]
    assert same["keys_turned_late"]
    assert same["in_a_batch"]
    assert same["tokens_equal_to_reference"] == 40
    assert same["batch_tokens_equal_to_reference"] == same["batch_tokens"] == 6 * 40
    assert same["near_ties"] == 0
    assert same["smallest_gap"] > NEAR_TIE


def test_the_setting_says_which_tokens_were_read(summary):
    said = "tiny, 60 tokens drawn at random (a drawn model reads no text) as prompt, 40 new ones"
    assert words(summary).setting.startswith(said)


def test_totals_are_those_of_the_formulas(summary):
    work = summary["work"]
    assert work["with"]["columns_computed"] == 2 * 99
    assert work["without"]["columns_computed"] == 2 * sum(range(60, 100))
    assert work["without"]["columns_read"] == 2 * sum(n * (n + 1) // 2 for n in range(60, 100))
    assert work["with"]["columns_read"] == 2 * (60 * 61 // 2 + sum(range(61, 100)))
    for name in work:
        assert sum(work[name]["flop_by_step"]) == work[name]["flop"]
    growth = {row["what"]: row for row in summary["growth"]}
    assert growth["K/V columns read by attention"]["order_without"] == "(N+T)³"
    assert growth["K/V columns read by attention"]["order_with"] == "(N+T)²"


def test_intensity_grows_with_the_batch_and_prefill_is_above_all(summary):
    prefill, one, four = summary["intensity"]
    assert one["intensity"] < four["intensity"] < prefill["intensity"]
    assert one["intensity"] < 1


def test_the_cache_overtakes_llama_3_8b_at_about_122_5k_tokens():
    (row,) = memory_rows(["llama-3-8b"])
    assert row["bytes_per_token"] == 131_072
    assert row["overtakes_at_tokens"] == pytest.approx(122_500, rel=0.001)
    assert row["bytes_by_context"]["4096"] * 32 == 16 * 2**30


def title(summary: dict, name: str) -> str:
    return next(picture.title for picture in pictures(summary) if picture.name == name)


@pytest.mark.parametrize(("batch", "said"), [(1, "one request"), (2, "2 requests together")])
def test_the_roofline_names_the_batch_it_speaks_of(summary, batch, said):
    prefill, one, four = summary["intensity"]
    rows = [prefill, {**one, "batch": batch}, four]
    told = title({**summary, "intensity": rows}, "roofline")
    assert told.startswith(f"Decoding {said} does {one['intensity']:.2f} FLOP per byte")


@pytest.mark.parametrize(
    ("weights", "reached", "balance", "headline", "text"),
    [
        (10**6, 0.9, 9.0, "so it does not wait for memory", "say nothing about memory"),
        (10**9, 0.9, 9.0, ": it waits for memory", "So decoding waits for memory (9 of 10 GB/s"),
        (10**9, 0.1, 9.0, "neither memory nor arithmetic", "memory alone does not explain"),
        (10**9, 0.9, 0.1, ": it waits for arithmetic", "waits for arithmetic"),
    ],
)
def test_headline_and_text_agree_on_what_a_step_waits_for(
    summary, weights, reached, balance, headline, text
):
    prefill, one, four = summary["intensity"]
    machine = {**summary["machine"], "bandwidth_bytes_per_s": 1e10,
               "balance_flop_per_byte": balance}  # fmt: skip
    rows = [prefill, {**one, "bytes_per_s": reached * 1e10}, four]
    told = {**summary, "weights_bytes": weights, "machine": machine, "intensity": rows}
    assert headline in title(told, "roofline")
    assert text in words(told).paragraphs[2]


def test_a_token_that_differs_is_an_error():
    passed = Verification(4, 4, 0, 0)
    with pytest.raises(VerificationError, match="in a batch, token 3 of 4 differs"):
        equivalence._refuse("in a batch", passed, [1, 2, 3, 4], [1, 2, 9, 4])
    with pytest.raises(VerificationError, match="2 of 4 tokens differ"):
        equivalence._refuse("x", Verification(4, 2, 0, 2), [1], [1])
    equivalence._refuse("x", Verification(4, 3, 1, 0), [1, 2], [1, 3])  # a near tie, and counted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("batches: []", r"e\.yaml:3:\d+: 'batches' must name at least one batch"),
        ("batches: 3", r"e\.yaml:3:\d+: 'batches' must be a list \(got 3\)"),
        ("models: []", r"e\.yaml:3:\d+: 'models' must name at least one model"),
        ("models: gpt-2", r"e\.yaml:3:\d+: 'models' must be a list \(got 'gpt-2'\)"),
        ("prompt_tokens: 10000000", r"e\.yaml:3:\d+: 'prompt_tokens' \+ 'new_tokens' must be"
         r" <= 8,192, .*\(got 10,000,000 \+ 200 = 10,000,200\)"),
        ("new_tokens: 8000", r"e\.yaml:3:\d+: .*\(got 200 \+ 8,000 = 8,200\)"),
        ("batch_context: 9000", r"e\.yaml:3:\d+: 'batch_context' must be <= 8,192"),
        ("batches: [1, 1000000000]", r"e\.yaml:3:\d+: 'batches\[1\]' must be <= [\d,]+: each"),
        ("models: [gpt-2, gpt-9]", r"e\.yaml:3:\d+: 'models\[1\]' must be .*\(got 'gpt-9'\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_before_it_runs(tmp_path, line, words):
    path = tmp_path / "e.yaml"
    path.write_text(f"study: equivalence\nmodel: tiny\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        load_laboratory(path)
    assert re.search(words, str(caught.value)), caught.value
    assert len(caught.value.problems) == 1


def test_what_the_reference_has_no_memory_for_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(laboratory_checks, "_memory", lambda: 2**20)
    study = Equivalence(model="tiny", batches=(1,), prompt_tokens=4000)
    (found,) = laboratory_checks.study_problems(study)
    assert "need about 672.91 MiB for all pairs of tokens, this machine has 1.00 MiB" in found[1]


def test_steps_are_timed_at_the_context_that_their_work_is_counted_for(monkeypatch):
    asked = []
    monkeypatch.setattr(equivalence_tables, "step_seconds",
                        lambda model, text, batch, context: asked.append(len(text[:context]))
                        or (1.0, 1.0))  # fmt: skip
    demonstrate(Equivalence(model="tiny", prompt_tokens=3, new_tokens=2, batches=(1,),
                            batch_context=900))  # fmt: skip
    assert asked == [900]


def test_a_study_made_in_python_is_refused_as_one_in_a_file_is():
    with pytest.raises(ConfigError, match="'models\\[0\\]' must be"):
        demonstrate(Equivalence(model="tiny", models=("gpt-9",)))


def test_the_verb_writes_a_whole_report(tmp_path, capsys):
    path, out = tmp_path / "e.yaml", tmp_path / "out"
    path.write_text(
        "study: equivalence\nmodel: tiny\nprompt_tokens: 30\nnew_tokens: 20\nbatches: [1, 2]\n"
    )
    assert run.main([str(path), "--output", str(out)]) == 0
    said = "The KV cache is an optimisation, not an approximation: all 20 tokens are the same"
    assert capsys.readouterr().out.startswith(said)
    text = (out / "report.md").read_text()
    assert text.startswith(f"# {said}")
    assert len(re.findall(r"!\[", text)) == 4
    assert "http" not in (out / "report.html").read_text()
    summary = json.loads((out / "summary.json").read_text())
    assert summary["study"] == "equivalence"
    assert (out / "summary.csv").read_text().count("\n") == 21
    assert not re.search(r"\b(nan|None|inf)\b", text)
