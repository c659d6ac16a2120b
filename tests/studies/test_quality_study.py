"""`study: quality` on a drawn model: numbers, intervals, bytes, resuming, stopping, pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wastesim import run
from wastesim.config.quality import CacheCell, Quality
from wastesim.decode import tokenizer
from wastesim.decode.geometry import decode_model
from wastesim.errors import ConfigError, InputError
from wastesim.report.figures.quality import front, pictures
from wastesim.report.figures.quality_windows import by_position
from wastesim.report.laboratory import answer
from wastesim.report.quality import words
from wastesim.studies import laboratory_checks, passages, quality_cells
from wastesim.studies.laboratory import load_laboratory, study_of
from wastesim.studies.passages import passage_text
from wastesim.studies.quality import QualityResult, cell_bytes, measure

ROUGH = {"dtype": "int4_sym", "group_size": 16}
CELLS = [
    "float16",
    "int8",
    {"kv_cache_dtype": ROUGH},
    {"window": 64},
    {"window": 64, "sinks": 4},
    {"kv_cache_dtype": {**ROUGH, "recent_tokens": 128}},
]
YAML = """\
study: quality
model: tiny
cells:
  - float16
  - int8
  - {window: 64, sinks: 4}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WASTESIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def study() -> Quality:
    return Quality.model_validate({"model": "tiny", "cells": CELLS})


class Watcher:
    """Remembers what it is told, and asks to stop after so many."""

    def __init__(self, stop_after: int = 10**6) -> None:
        self.names: list[str] = []
        self._stop_after = stop_after

    def told(self, name: str, done: int) -> None:
        self.names.append(name)

    def should_stop(self) -> bool:
        return len(self.names) >= self._stop_after


def by_label(result: QualityResult) -> dict[str, dict]:
    return {row["cache"]: row for row in result.summary["cells"]}


def test_changes_are_paired_and_inside_their_intervals(study):
    result = measure(study, workers=1)
    rows = by_label(result)
    base = rows["float32"]
    assert (base["change"], base["change_low"], base["change_high"]) == (0, 0, 0)
    assert base["top_agreement"] == 1
    for row in rows.values():
        assert row["change_low"] <= row["change"] <= row["change_high"]
        assert row["change"] == pytest.approx(row["perplexity"] / base["perplexity"] - 1, abs=1e-6)
    rough, kept = rows["int4_sym, groups of 16"], rows[
        "int4_sym, groups of 16, newest 128 keys and values in float32"]  # fmt: skip
    assert rough["top_agreement"] < rows["int8"]["top_agreement"] < 1
    assert kept["top_agreement"] > rough["top_agreement"]


def test_bytes_are_those_of_the_format_and_the_window(study):
    model = decode_model("tiny")  # 8 rows of 16 numbers per token
    rows = by_label(measure(study, workers=1))
    assert rows["float32"]["bytes_per_token"] == 8 * 64
    assert rows["int8"]["bytes_per_token"] == 8 * (16 + 2)
    assert rows["window of 64, no sinks"]["bytes_per_token"] == 64 * 8 * 64 / 768
    assert rows["window of 64, no sinks"]["freed_tokens"] == 768 - 64
    assert cell_bytes(CacheCell(window=64), model, 40) == 40 * 512
    assert rows["int8"]["bytes_per_element"] == pytest.approx(18 / 16)


def test_what_was_measured_is_kept_and_a_stopped_study_goes_on(study, cache):
    stopped = measure(study, Watcher(stop_after=3), workers=1)
    assert stopped.interrupted
    assert len(stopped.missing) == 4
    assert [row["cache"] for row in stopped.summary["cells"]] == ["float32", "float16", "int8"]
    assert len(list((cache / "cells").iterdir())) == 3
    watcher = Watcher()
    whole = measure(study, watcher, workers=1)
    assert not whole.interrupted
    assert len(watcher.names) == 1 + 4  # the kept ones are told at once
    assert whole.summary == measure(study, workers=1).summary


def test_changed_code_or_text_is_measured_anew(study, cache, monkeypatch):
    measure(study, workers=1)
    monkeypatch.setattr(quality_cells, "_code", lambda: "other")
    measure(study.model_copy(update={"cells": study.cells[:1]}), workers=1)
    assert len(list((cache / "cells").iterdir())) == 7 + 2


def test_a_damaged_kept_result_is_measured_again(study, cache):
    first = measure(study, workers=1).summary
    for path in (cache / "cells").iterdir():
        path.write_bytes(b"not an archive")
    assert measure(study, workers=1).summary == first


def test_a_format_that_overflows_is_left_out_by_name(study, tmp_path):
    whole = measure(study, workers=1)
    found = dict(whole.cells)
    found["int8"] = found["int8"]._replace(nll=found["int8"].nll * np.float32("nan"))
    broken = QualityResult(study, whole.model, whole.tokens, found)
    assert "int8" not in by_label(broken)
    assert broken.summary["overflowed"] == ["int8"]
    assert words(broken.summary).state == "Keys or values are too large for int8: left out."
    json.dumps(broken.summary, allow_nan=False)


def test_processes_give_the_same_numbers(study):
    alone = measure(study, workers=1).summary
    for path in (quality_cells.cache_folder() / "cells").iterdir():
        path.unlink()
    assert measure(study, workers=2).summary == alone


def test_stopping_before_the_first_is_an_interruption(study):
    with pytest.raises(KeyboardInterrupt):
        measure(study, Watcher(stop_after=0), workers=1)


def test_attention_on_the_first_tokens_is_a_share(study):
    mass = np.array(measure(study, workers=1).summary["sink_mass"]["layers"])
    assert mass.shape == (2, 4)
    assert (mass >= 0).all()
    assert (mass.sum(axis=1) <= 1).all()


def test_the_front_has_no_cache_that_another_beats():
    rows = [
        {"bytes_per_token": b, "change": c, "n": i}
        for i, (b, c) in enumerate([(10, 0.0), (5, 0.1), (5, 0.05), (7, 0.2), (2, 0.3), (11, 0.0)])
    ]
    assert [row["n"] for row in front(rows)] == [4, 2, 0]


def told(rows: list[dict], **others) -> dict:
    """A summary of these rows, each given over a plain one."""
    plain = {
        "cache": "float32", "dtype": "float32", "window": None, "sinks": None,
        "positions": None, "perplexity": 20.0, "change": 0.0, "change_low": 0.0,
        "change_high": 0.0, "top_agreement": 1.0, "bytes_per_token": 512, "bytes_per_element": 4,
        "held_tokens": 600, "freed_tokens": 0, "bytes_by_length": [4.0] * 15, "nll": [0.0] * 37,
    }  # fmt: skip
    return {
        "schema_version": 1, "name": "q", "study": "quality", "missing": [], "overflowed": [],
        "model": "m", "passage": None, "tokens": 600, "block_tokens": 32, "lengths": [4096, 8192],
        "sink_mass": {"layers": [[0.2, 0.1, 0.0, 0.0]] * 2}, **others,
        "cells": [{**plain, **row} for row in ({}, *rows)],
    }  # fmt: skip


def window(sinks: int, low: float, change: float, high: float, nll: float = 0.0) -> dict:
    return {
        "cache": f"window of 128, {sinks} sinks", "window": 128, "sinks": sinks,
        "positions": "original", "change": change, "change_low": low, "change_high": high,
        "freed_tokens": 472, "nll": [nll] * 37,
    }  # fmt: skip


def test_a_window_that_improves_perplexity_does_not_break_the_model():
    better = told([window(0, -0.11, -0.0448, 0.03), window(4, -0.12, -0.051, 0.03)])
    (said,) = words(better).paragraphs
    assert said.startswith("Letting the first tokens go does not break the model here: 128 tokens")
    assert said.endswith("draw 30.0 % of all attention (mean over layers and heads).")
    (position,) = by_position(better)
    assert position.title.startswith("No loss begins when the first tokens leave, at 128: 0.00")
    worse = told([window(0, 0.5, 0.7, 0.9, 0.5), window(4, 0.05, 0.07, 0.09, 0.07)])
    (said,) = words(worse).paragraphs
    assert said.startswith("A window that lets the first tokens go breaks the model: 128 tokens")
    assert "tokens that mean something" in said
    (position,) = by_position(worse)
    assert position.title.startswith("The loss begins when the first tokens leave, at 128: 0.43")


def test_counting_by_the_whole_interval_is_said():
    unsure = told([window(0, -0.11, -0.0448, 0.03)])
    assert answer(unsure) == (
        "No cache measured here surely costs less than 1.0 % in perplexity: no 95 % interval lies"
        " wholly below that; full precision has 20.00."
    )
    costs = pictures(unsure)[0]
    assert costs.title == "0 of 1 caches surely cost less than 1.0 % in perplexity"
    assert costs.caption.startswith("Surely: the whole 95 % interval lies below 1.0 %.")
    assert any("whole 95 % interval" in line for line in words(unsure).explanations)


def test_what_newest_tokens_save_is_said_only_where_they_save_it():
    name = "int8, newest 128 keys and values in float32"
    rows = [{"cache": "int8", "dtype": "int8", "change": 0.1},
            {"cache": name, "dtype": "int8", "change": 0.01}]  # fmt: skip
    assert words(told(rows)).paragraphs[1].startswith("Most of what int8 loses is lost on the new")
    rows[1]["change"] = 0.09
    assert words(told(rows)).paragraphs[1].startswith("int8 costs +10.0 %, and +9.00 % with the")


def test_the_verb_writes_a_whole_report(tmp_path, capsys):
    path = tmp_path / "q.yaml"
    path.write_text(YAML)
    out = tmp_path / "out"
    assert run.main([str(path), "--output", str(out)]) == 0
    printed = capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text())
    assert printed.startswith(answer(summary))
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text()
    assert "http" not in page
    assert "<script" not in page
    assert text.startswith("# The smallest cache that costs less than 1.0 % in perplexity is")
    for row in summary["cells"]:
        assert f"| {row['cache']} | {row['perplexity']:.3f} |" in text
    figures = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(figures) >= 2
    assert all((out / figure).is_file() for figure in figures)
    assert not re.search(r"\b(nan|None|inf)\b", text)
    again = tmp_path / "again"
    assert run.main([str(out / "resolved.yaml"), "--output", str(again), "--quiet"]) == 0
    assert json.loads((again / "summary.json").read_text()) == summary


def test_blocks_of_tables_have_equal_columns(tmp_path):
    path, out = tmp_path / "q.yaml", tmp_path / "out"
    path.write_text(YAML)
    run.main([str(path), "--output", str(out), "--quiet", "--set", "figures=false"])
    for block in re.findall(r"(?:^\|.*\n)+", (out / "report.md").read_text(), flags=re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def problems(tmp_path: Path, text: str, *overrides: str) -> str:
    path = tmp_path / "q.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_laboratory(path, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("int8", r"q\.yaml:5:\d+: 'cells\[1\]"),
        ("{window: 4, sinks: 4}", "'sinks' must be fewer than the window's 4 tokens"),
        ("{sinks: 4}", "'sinks' and 'positions' belong to a 'window'"),
        ("float16", "must name each cache once"),
    ],
)
def test_caches_that_make_no_sense_are_refused(tmp_path, changed, words):
    wrong = "int3" if changed == "int8" else changed
    said = problems(tmp_path, YAML.replace("int8", wrong))
    assert re.search(words, said), said


def test_formats_that_do_not_fit_the_model_are_refused_with_their_place(tmp_path):
    text = YAML.replace("int8", "q4_0") + "  - {kv_cache_dtype: {dtype: int8, hadamard: true}}\n"
    said = problems(tmp_path, text + "  - q8_0\n")
    assert re.search(r"q\.yaml:5:\d+: 'cells\[1\]': 'kv_cache_dtype' q4_0 needs a head_dim", said)
    assert re.search(r"q\.yaml:8:\d+: 'cells\[4\]': 'kv_cache_dtype' q8_0 needs a head_dim", said)
    assert "cells[3]" not in said
    with pytest.raises(ConfigError, match=r"'cells\[0\]': 'kv_cache_dtype' q4_0"):
        measure(Quality.model_validate({"model": "tiny", "cells": ["q4_0"]}), workers=1)


def test_every_problem_is_told_at_once_with_its_place(tmp_path):
    said = problems(tmp_path, YAML + "celz: 3\n", "model=tinny", "seed=-1")
    assert "'model' must be one of tiny, small, smollm2" in said
    assert "celz" in said
    assert "seed" in said


def test_passages_are_found_by_name_or_file_and_missed_clearly(tmp_path):
    assert "tide table" in passage_text("the-tide-table")
    own = tmp_path / "own.txt"
    own.write_text("mine")
    assert passage_text(str(own)) == "mine"
    with pytest.raises(InputError, match=r"passage 'nope': .*one of the-tide-table"):
        passage_text("nope")


@pytest.mark.parametrize(
    ("content", "model", "words"),
    [
        (None, "tiny", "'passage' cannot be read by tiny: its weights are drawn"),
        (b"\xff\x00\xfe", "tiny", "'passage' cannot be read by tiny"),
        (b"some text", "tiny", "'passage' cannot be read by tiny"),
        (None, "reader", r"own\.txt': cannot be read \(No such file or directory\)"),
        (b"\xff\x00\xfe", "reader", r"own\.txt': cannot be read \(it is not UTF-8\)"),
        (b"", "reader", r"own\.txt': has 0 tokens, 512 are needed"),
    ],
)
def test_a_passage_that_cannot_be_used_is_refused_with_its_place(
    tmp_path, monkeypatch, content, model, words
):
    if content is not None:
        (tmp_path / "own.txt").write_bytes(content)
    if model == "reader":
        pretend_to_read(monkeypatch)
    said = problems(tmp_path, YAML + "passage: own.txt\n")
    assert re.search(r"q\.yaml:7:\d+: .*" + words, said), said


def pretend_to_read(monkeypatch):
    """Let `tiny` have a tokenizer: one token per letter."""
    letters = SimpleNamespace(encode=lambda text: list(text.encode()))
    monkeypatch.setattr(passages, "reads_text", lambda model: True)
    monkeypatch.setattr(laboratory_checks, "reads_text", lambda model: True)
    monkeypatch.setattr(tokenizer, "tokenizer_of", lambda model: letters)


def test_the_report_says_which_tokens_were_read(study, monkeypatch):
    drawn = measure(study, workers=1).summary
    assert drawn["passage"] is None
    assert words(drawn).setting == (
        "tiny, 768 tokens drawn at random (a drawn model reads no text), each read given those"
        " before it"
    )
    pretend_to_read(monkeypatch)
    read = measure(study.model_copy(update={"max_tokens": 600}), workers=1).summary
    assert words(read).setting.startswith("tiny, 600 tokens of the-tide-table, each read")


def test_too_few_tokens_say_both_numbers(study, tmp_path):
    with pytest.raises(ConfigError, match=r"'max_tokens' must be >= 512 \(got 100\)"):
        measure(study.model_copy(update={"max_tokens": 100}), workers=1)
    said = problems(tmp_path, YAML + "max_tokens: 100\n")
    assert re.search(r"q\.yaml:7:\d+: 'max_tokens' must be >= 512 \(got 100\)", said)


def test_blocks_that_leave_no_interval_are_refused(study, tmp_path):
    said = problems(tmp_path, YAML + "max_tokens: 600\n", "block_tokens=100000")
    assert said == (
        "--set block_tokens: 'block_tokens' must be <= 59: an interval needs 10 blocks of the 599"
        " tokens that are judged (got 100000)"
    )
    fits = measure(study.model_copy(update={"max_tokens": 600, "block_tokens": 59}), workers=1)
    assert all(row["change_low"] <= row["change_high"] for row in fits.summary["cells"])


def test_more_text_than_the_model_sees_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory_checks, "DRAWN_CONTEXT", 700)
    said = problems(tmp_path, YAML)
    assert "'max_tokens' must be <= 700, the tokens that tiny sees at once" in said
    assert "(the passage has 768)" in said


def test_experiments_are_told_apart_from_studies(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("model: tiny\n")
    assert study_of(path, []) is None
    assert study_of(path, ["study=quality"]) == "quality"
    assert study_of(tmp_path / "none.yaml", []) is None
