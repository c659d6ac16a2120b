"""`wastesim workload`: what a trace, a workload or an experiment is like."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from wastesim.describe import main
from wastesim.units import format_count

SMALL = "arrival_time_s,prompt_tokens,output_tokens\n0,10,4\n30,20,2\n60,60,5\n60,7,0\n130,9,2\n"
PICTURES = ("lengths", "limits", "arrivals")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a trace in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text(SMALL)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def tree(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return found


def test_the_answer_comes_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """4 * 11.5 + 2 * 20.5 + 5 * 62 + 2 * 9.5 = 416 cells over 13 ticks of 128 cells each."""
    first = said(capsys, "small.csv", "--max-model-len", "64,128").splitlines()[0]
    assert first == (
        "trace small.csv: of 4 requests 100.0 % fit max_model_len 128; contiguous caches of that"
        " size would be 25.0 % written (mean over steps)"
    )


def test_everything_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = " ".join(said(capsys, "small.csv").split())
    for text in (
        "1 of 5 rows cannot be used: output_zero 1",
        "Pearson",
        "Spearman",
        "coefficient of variation",
        "index of dispersion",
        "negative_binomial",
        "131,072",
        "pictures and JSON: reports/workload/small",
    ):
        assert text in printed


def test_pictures_and_json_are_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "long.csv").write_text(SMALL + "".join(f"{t},50,9\n" for t in range(140, 900, 7)))
    said(capsys, "long.csv", "--output", "out")
    names = {f"{name}.{kind}" for name in PICTURES for kind in ("svg", "png")}
    assert {path.name for path in (here / "out").iterdir()} == {*names, "workload.json"}
    found = json.loads((here / "out/workload.json").read_text())
    assert found["schema_version"] == 1
    assert found["unusable"] == {"output_zero": 1}
    assert all((here / "out" / name).stat().st_size < 500_000 for name in names)


def test_json_alone_writes_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tree(capsys, "small.csv")["count"] == 4
    assert os.listdir(here) == ["small.csv"]


def test_a_shipped_workload_is_drawn(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, "sharegpt", "--num-requests", "5000")
    assert found["count"] == 5000
    assert found["prompt"]["mean"] == pytest.approx(161.3, rel=0.1)
    assert found["arrivals"] is None
    assert found["title"].endswith("(sharegpt)")
    assert found != tree(capsys, "sharegpt", "--num-requests", "5000", "--seed", "1")
    assert found == tree(capsys, "sharegpt", "--num-requests", "5000")


def test_a_workload_file_says_what_was_done_to_samples(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.yaml").write_text(
        "title: mine\nlengths: {prompt: 5, output: {kind: lognormal, mu: 3, sigma: 1, max: 40,"
        " outside: clip}}\nprovenance: {source: me, licence: none, made: by hand}\n"
    )
    found = tree(capsys, "mine.yaml", "--num-requests", "1000")
    assert any(note.startswith("output_clipped: ") for note in found["notes"])
    assert found["output"]["most"] == 40


def test_an_experiment_describes_its_own_requests(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(
        "model: llama-3-8b\ngpu: a100-sxm-40gb\nserver: {max_model_len: 2048}\n"
        "workload: {lengths: sharegpt, num_requests: 400, request_rate: 4}\n"
    )
    found = tree(capsys, "e.yaml")
    assert found["count"] == 400
    assert found["arrivals"]["rate_per_s"] == pytest.approx(4, rel=0.2)
    assert tree(capsys, "e.yaml", "--num-requests", "40")["count"] == 40
    assert tree(capsys, "e.yaml", "--seed", "1") != found == tree(capsys, "e.yaml", "--seed", "0")


@pytest.mark.parametrize("words", [["--seed", "-1"], ["--num-requests", "0"], ["--time-unit", "h"]])
def test_options_that_mean_nothing_are_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["sharegpt", *words])
    assert caught.value.code == 2


def test_columns_and_units_can_be_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "odd.csv").write_text("when,a,b\n0,1,2\n2000,3,4\n")
    columns = ["--columns", "prompt=a,output=b,arrival=when", "--time-unit", "ms"]
    assert tree(capsys, "odd.csv", *columns)["arrivals"]["span_s"] == 2.0


def test_the_first_rows_of_a_trace(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, "small.csv", "--num-requests", "2")
    assert found["count"] == 2
    assert "only the first 2 of 4 usable rows are described" in found["notes"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["sharegtp"], "error: must be a workload"),
        (["none.csv"], "error: must be a workload"),
        (["small.csv", "--columns", "prompt"], "error: --columns: must look like prompt=NAME"),
        (["small.csv", "--columns", "x=y"], "error: --columns: must look like prompt=NAME"),
        (["small.csv", "--columns", "prompt=zz"], "error: small.csv:1: has no column 'zz'"),
        (["small.csv", "--max-model-len", "x"], "error: --max-model-len: must be"),
        (["small.csv", "--max-model-len", "0"], "error: --max-model-len: must be >= 1"),
        (["small.csv", "--output", "small.csv"], "error: small.csv: cannot be written"),
        (["none.yaml"], "error: none.yaml: cannot be read"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(text)


@pytest.mark.parametrize("rows", ["0,1,1\n", "0,1,1\n0,1,1\n", "0,9,9\n5,9,9\n"])
def test_next_to_nothing_can_be_described(
    rows: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "few.csv").write_text("arrival_time_s,prompt_tokens,output_tokens\n" + rows)
    assert "1 requests" in said(capsys, "few.csv") or rows.count("\n") == 2


TRACES = {
    "azure2023_conv": "AzureLLMInferenceTrace_conv.csv",
    "azure2023_code": "AzureLLMInferenceTrace_code.csv",
    "mooncake_conversation": "mooncake_conversation_trace.jsonl",
}


@pytest.mark.parametrize("name", TRACES)
def test_public_traces_have_their_published_statistics(
    name: str, shared: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = row_of(shared / "data/facts/trace_stats.csv", "name", name)
    found = tree(capsys, str(shared / "data/traces" / TRACES[name]))
    assert found["count"] == int(facts["n"])
    for side in ("prompt", "output"):
        assert found[side]["mean"] == pytest.approx(float(facts[f"{side}_mean"]))
        best = found[f"{side}_families"][0]
        assert best["family"].replace("negative_binomial", "negbinom") == facts[f"{side}_best"]
        assert best["distance"] == pytest.approx(float(facts[f"{side}_best_ks"]), abs=0.006)
    assert found["spearman"] == pytest.approx(float(facts["spearman"]), abs=1e-6)
    assert found["pearson"] == pytest.approx(float(facts["pearson"]), abs=1e-6)
    if facts["ia_cv"]:
        assert found["arrivals"]["gap_cv"] == pytest.approx(float(facts["ia_cv"]), rel=0.01)
    if facts["count_60s_idx_disp"]:
        dispersion = float(facts["count_60s_idx_disp"])
        assert found["arrivals"]["dispersion_60s"] == pytest.approx(dispersion, rel=0.02)


@pytest.mark.parametrize(
    ("name", "file"),
    [("azure2023_conv", TRACES["azure2023_conv"]), ("sharegpt_sosp23", "sharegpt_opt_lengths.csv")],
)
def test_public_traces_have_their_closed_form_waste(
    name: str, file: str, shared: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared / "data/facts/closed_form_waste.csv"
    with path.open() as stream:
        facts = {int(row["S"]): row for row in csv.DictReader(stream) if row["trace"] == name}
    found = tree(capsys, str(shared / "data/traces" / file))
    compared = [at for at in found["limits"] if at["max_model_len"] in facts]
    assert compared
    for at in compared:
        fact = facts[at["max_model_len"]]
        share = float(fact["written_over_reserved_maxS"])
        assert at["contiguous_step"] == pytest.approx(share, rel=1e-3)
        assert 1 - at["too_long_share"] == pytest.approx(float(fact["kept"]))


def row_of(path: Path, column: str, value: str) -> dict[str, str]:
    with path.open() as stream:
        return next(row for row in csv.DictReader(stream) if row[column].startswith(value))


def test_numbers_of_tables_are_whole_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe is not 80 columns wide: no number is broken over two lines."""
    printed = said(capsys, "small.csv")
    assert re.search(rf"^ ?{format_count(131072)}\s", printed, re.M)


def test_nothing_is_cut_on_a_terminal_of_eighty_columns(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    printed = said(capsys, "mooncake-conversation", "--num-requests", "2000")
    assert "…" not in printed
    assert "\x1b[" in printed
