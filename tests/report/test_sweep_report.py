"""The report of a sweep: what it says, what it draws, what it links to; and that of two runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from wastesim import compare, run
from wastesim.config import dump_yaml
from wastesim.report.figures.canvas import blank
from wastesim.report.figures.sweep import PLANS
from wastesim.report.figures.sweep_axes import spaced
from wastesim.report.figures.sweep_pareto import Point, front
from wastesim.report.sweep import gather, line, print_sweep, write_report
from wastesim.report.sweep_parts import Cell, Parts, Show
from wastesim.report.sweep_words import difference, metric, number, value
from wastesim.statistics import Interval

STEP, TTFT, RATE = (
    "memory.written_over_reserved.step",
    "latency.ttft_s.p99",
    "throughput.output_tokens_per_s",
)


def cell(values: dict[str, Any], step: float, ttft: float, rate: float, **more: Any) -> Cell:
    label = ", ".join(f"{k.rpartition('.')[2]} {v}" for k, v in values.items())
    numbers = {
        STEP: Interval(step, step - 0.01, step + 0.01, 3),
        TTFT: Interval(ttft, ttft * 0.9, ttft * 1.1, 3),
        RATE: Interval(rate, None, None, 1),
    }
    return Cell(label, values, numbers, more.pop("less", {}), more.pop("runs", 3), **more)


def parts(cells: list[Cell], **more: Any) -> Parts:
    known: dict[str, Any] = {
        "name": "s", "question": "What does it cost?", "setting": "a model",
        "keys": list(cells[0].values), "metrics": [STEP, TTFT, RATE], "replications": 3,
        "level": 0.95,
    }  # fmt: skip
    return Parts(cells=cells, **{**known, **more})


def grid() -> list[Cell]:
    """Two policies at four lengths; the last failed."""
    made = [
        cell({"server.policy": policy, "server.max_model_len": n}, share / n, n / 100, 1e6 / n)
        for policy, share in (("contiguous", 400), ("paged", 900))
        for n in (1024, 2048, 4096, 8192)[: 4 if policy == "contiguous" else 3]
    ]
    lost = {"server.policy": "paged", "server.max_model_len": 8192}
    return [*made, Cell("lost", lost, {}, {}, 0, ["out of memory"])]


def drawn(found: Parts) -> set[str]:
    return {name for name, plan in PLANS.items() if plan(found) is not None}


def test_a_number_is_said_with_its_interval_in_the_unit_of_its_column() -> None:
    assert number(Interval(0.2246, 0.1766, 0.2727, 3), STEP) == "22.5 ± 4.8"
    assert metric(STEP).unit == " (%)"
    assert number(Interval(3295.9, 2761.6, 3830.3, 3), RATE) == "3,296 ± 534"
    assert metric(RATE).unit == " (tokens/s)"
    assert number(Interval(0.0125, None, None, 1), "latency.tpot_s.mean") == "12.5"
    assert metric("latency.tpot_s.mean").unit == " (ms)"
    assert number(Interval(None, None, None, 0), STEP) == "–"


def test_a_difference_whose_interval_has_zero_may_be_luck() -> None:
    assert difference(Interval(0.1, 0.05, 0.15, 3), STEP) == "+10 ± 5"
    assert difference(Interval(-0.1, -0.3, 0.1, 3), STEP) == "−10 ± 20, may be luck"
    assert difference(Interval(0.0, 0.0, 0.0, 3), STEP) == "0"


def test_values_are_said_as_people_say_them() -> None:
    assert value({"name": "mine", "claim": "prompt"}) == "mine"
    assert (value(16384), value(0.5), value(True)) == ("16,384", "0.5", "true")
    assert value("/long/way/to/azure.csv") == "azure"


def test_the_headline_tells_the_ends_and_a_search_its_answer() -> None:
    said = gather(parts(grid()), "", {}).headline
    assert said == (
        "Written / reserved, per step goes from 4.9 % (policy contiguous, max_model_len 8192) to"
        " 87.9 % (policy paged, max_model_len 1024)."
    )
    assert gather(parts(grid(), answer="It is 7."), "", {}).headline == "It is 7."


def test_pictures_follow_from_what_was_varied() -> None:
    assert drawn(parts(grid())) == {"lines", "heat", "pareto"}
    names = [cell({"server.policy": p}, 0.1, 1.0, 5.0) for p in ("a", "b", "c")]
    assert drawn(parts(names)) == {"dots", "pareto"}
    probes = [cell({"server.block_size": n}, 0.1, 1.0, 5.0) for n in (1, 2, 4)]
    assert drawn(parts(probes, answer="4", bound=0.5)) == {"lines"}
    assert drawn(parts([grid()[-1]])) == set()


def test_a_front_is_what_no_other_beats_in_both() -> None:
    points = [Point(1, 1, "a"), Point(2, 3, "b"), Point(3, 2, "c"), Point(2, 2, "d")]
    assert [point.name for point in front(points)] == ["a", "b"]


def test_every_picture_is_drawn_and_the_page_fetches_nothing(tmp_path: Path) -> None:
    assert write_report(parts(grid()), tmp_path, "a: 1", {"command": "c"}, figures=True) == []
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 6  # three pictures, wide and narrow
    assert not re.search(r"(src|href)=\"https?:", page)
    assert (tmp_path / "figures/lines.svg").exists()
    assert (tmp_path / "figures/heat.png").exists()


def test_names_of_ticks_do_not_lie_on_each_other() -> None:
    lengths = [1024, 2048, 4096, 6144, 8192, 12288, 16384, 32768]
    named = spaced(lengths, 365)
    assert named == [1024, 2048, 4096, 8192, 16384, 32768]
    assert spaced(lengths, 2000) == lengths


def ticks(found: Parts) -> tuple[list[str], list[float]]:
    """Names below the first panel of the lines, and all its marks."""
    picture = PLANS["lines"](found)
    assert picture is not None
    figure = blank(860, picture.height_px)
    picture.draw(figure, False)
    axis = figure.axes[0].xaxis
    names = [text.get_text() for text in axis.get_ticklabels() if text.get_text()]
    return names, sorted({*axis.get_ticklocs(), *axis.get_ticklocs(minor=True)})


def test_values_that_were_chosen_have_marks_and_others_round_numbers() -> None:
    lengths = [1024, 2048, 4096, 6144, 8192, 12288, 16384, 32768]
    chosen = [cell({"server.max_model_len": n}, 0.1, 1.0, 5.0) for n in lengths]
    names, marks = ticks(parts(chosen))
    assert "2,048" in names
    assert marks == lengths
    probed = [cell({"workload.request_rate": r}, 0.1, 1.0, 5.0)
              for r in (1.0, 4.7568284, 4.8347351, 4.9139234, 8.0, 64.0)]  # fmt: skip
    assert ticks(parts(probed, show=Show(metrics=[STEP])))[0] == ["1", "2", "5", "10", "20", "50"]


def test_sampled_points_are_marks_by_what_is_no_number_and_none_is_left_out() -> None:
    cells = [
        cell({"workload.request_rate": 1 + i / 7, "server.max_num_seqs": 8 + i, "server.policy": p},
             0.1, 1.0, 5.0)
        for i, p in enumerate(("paged", "contiguous") * 10)
    ]  # fmt: skip
    picture = PLANS["lines"](parts(cells))
    assert picture is not None
    assert picture.caption.startswith("Each mark is a cell")
    assert "Marks differ in max_num_seqs too." in picture.caption
    assert "no room" not in picture.caption
    figure = blank(860, 400)
    picture.draw(figure, False)
    drawn_ = figure.axes[0].lines
    assert [line.get_label() for line in drawn_] == ["paged", "contiguous"]
    assert [len(line.get_xdata()) for line in drawn_] == [10, 10]
    assert {line.get_linestyle() for line in drawn_} == {"None"}


def test_dots_that_hide_each_other_are_named() -> None:
    known = ((1, 1.0, 5.0), (2, 2.0, 9.0), (4, 2.001, 9.002), (8, 9.0, 1.0))
    cells = [cell({"server.max_model_len": n}, 0.1, ttft, rate) for n, ttft, rate in known]
    picture = PLANS["pareto"](parts(cells))
    assert picture is not None
    assert picture.title.startswith("3 of 4 cells trade")
    assert picture.caption.endswith("Dots that nearly hide each other: 2; 4.")
    figure = blank(860, 400)
    picture.draw(figure, False)
    assert [text.get_text() for text in figure.axes[0].texts] == ["1", "2"]


def test_a_square_without_a_number_says_why(tmp_path: Path) -> None:
    cells = grid()
    nothing = {STEP: Interval(None, None, None, 0)}
    rejected = Cell("r", cells[0].values, nothing, {}, 3)
    found = parts([rejected, *cells[1:]], show=Show(metrics=[STEP]))
    picture = PLANS["heat"](found)
    assert picture is not None
    assert "Failed: no run came to its end. Undefined: the number has no value" in picture.caption
    write_report(found, tmp_path, "", {}, figures=True)
    squares = (tmp_path / "figures/heat.svg").read_text()
    assert squares.count(">failed<") == squares.count(">undefined<") == 1
    full = PLANS["heat"](parts([*cells[:-1], cell(dict(cells[-1].values), 0.1, 1.0, 5.0)]))
    assert full is not None
    assert full.caption.endswith("darker is more.")


def test_the_table_links_cells_to_their_reports_and_tells_errors(tmp_path: Path) -> None:
    linked = cell({"server.policy": "<a>"}, 0.1, 1, 5, link="reports/12/report.html",
                  less={STEP: Interval(0.1, 0.05, 0.15, 3)})  # fmt: skip
    lost = Cell("lost", {"server.policy": "b|c"}, {}, {}, 0, ["out of <memory>"])
    write_report(parts([linked, lost]), tmp_path, "", {}, figures=False)
    page, text = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert '<a href="reports/12/report.html">&lt;a&gt;</a>' in page
    assert "no run came to its end" in page
    assert "out of &lt;memory&gt;" in page
    assert "+10 ± 5" in page
    assert "[<a>](reports/12/report.html)" in text
    assert "b\\|c" in text


def test_a_saturated_cell_is_marked_where_its_numbers_are_of_the_runs_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = cell({"workload.request_rate": 5}, 0.1, 1, 5)
    cells = [served, cell({"workload.request_rate": 40}, 0.2, 419, 5, saturated=3)]
    assert gather(parts([served]), "", {}).load == ""
    write_report(parts(cells), tmp_path, "", {}, figures=False)
    print_sweep(parts(cells), tmp_path)
    pages = [(tmp_path / f"report.{kind}").read_text() for kind in ("html", "md")]
    for text in (*pages, capsys.readouterr().out):
        assert "† 1 of 2 cells has saturated runs: more requests come than are served" in text
        assert "419 ± 42 †" in text
        assert "20 ± 1 †" not in text  # memory is steady all the same
        assert "1 ± 0.1 †" not in text
    assert "| 40 | 3 † |" in pages[1]
    partly = cell({"workload.request_rate": 30}, 0.2, 9, 5, saturated=1)
    assert line(partly, parts([partly])).mark == "(1 †)"


def test_a_cell_with_one_finished_run_of_several_is_told() -> None:
    cells = [cell({"server.policy": name}, 0.1, 1, 5) for name in ("a", "b")]
    assert "finished run" not in gather(parts(cells), "", {}).basis
    cells[1] = cell({"server.policy": "b"}, 0.1, 1, 5, runs=1)
    assert "1 cell with one finished run: no interval." in gather(parts(cells), "", {}).basis


def test_lines_that_there_is_no_room_for_are_counted() -> None:
    cells = [
        cell({"server.policy": f"p{i}", "server.max_model_len": n}, 0.1, 1, 5)
        for i in range(9)
        for n in (1, 2, 3)
    ]
    picture = PLANS["lines"](parts(cells, show=Show(x="server.max_model_len")))
    assert picture is not None
    assert "9 cells are on lines that there was no room for" in picture.caption


TOY: dict[str, Any] = {
    "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000},
    "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "workload": {"lengths": {"prompt": 3, "output": 5}, "num_requests": 300, "request_rate": 0.5},
    "server": {"max_model_len": 16, "kv_cache_memory_bytes": 16 * 4 * 4},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
    "output": {"figures": False},
}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`a` and `b` with four and with two slots, `c` with other requests, `d` without records."""
    monkeypatch.chdir(tmp_path)
    Path("toy.yaml").write_text(dump_yaml(TOY))
    changes = {
        "a": [],
        "b": ["server.max_num_seqs=2"],
        "c": ["seed=1"],
        "d": ["output.records=none"],
    }
    for name, words in changes.items():
        given = [word for text in words for word in ("--set", text)]
        assert run.main(["toy.yaml", "--output", name, "--quiet", *given]) == 0
    return tmp_path


def test_two_runs_are_compared_pair_by_pair(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare.main(["a", "b", "--output", "out"]) == 0
    printed = capsys.readouterr().out
    assert "300 requests that both completed, paired" in printed
    assert "windows of" in printed
    assert "numbers differ beyond chance" in printed
    page = (folders / "out/report.html").read_text()
    assert "MSER-5 leaves out the first" in page
    assert compare.main(["a", "a", "--quiet"]) == 0


def test_a_run_does_not_differ_from_itself(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare.main(["a", "a"]) == 0
    assert "None of 7 numbers differs beyond chance." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("other", "why"),
    [("c", "not given the same requests"), ("d", "Without saved records")],
)
def test_what_cannot_be_paired_says_why(
    folders: Path, other: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare.main(["a", other]) == 0
    printed = capsys.readouterr().out
    assert why in printed
    assert "whole runs, no interval" in printed


def test_a_folder_without_results_is_an_error(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders / "empty").mkdir()
    assert compare.main(["a", "empty"]) == 2
    assert "empty: holds no results (no summary.json)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is damaged (it lacks"),
        ("[]", "is damaged (it lacks"),
        ('{"requests": {"submitted": 3}}', "is damaged (it lacks"),
        ('{"study": "sweep"}', "is damaged (it lacks"),
        ('{"requests"', "is damaged (no JSON)"),
        ('{"study": "quality"}', "is a study of quality"),
    ],
)
def test_a_damaged_summary_is_an_error_in_words(
    folders: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders / "bad").mkdir()
    (folders / "bad/summary.json").write_text(text)
    assert compare.main(["a", "bad"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Error" not in error


def test_damaged_records_are_an_error_in_words(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders / "b/ticks.npz").write_bytes(b"")
    assert compare.main(["a", "b"]) == 2
    assert "error: b: its records are damaged" in capsys.readouterr().err
    (folders / "b/facts.json").write_text("{}")
    assert compare.main(["a", "b"]) == 2
    assert "error: b: its records are damaged" in capsys.readouterr().err


def test_a_page_goes_into_no_folder_that_holds_something_else(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = (folders / "a/report.html").read_text()
    assert compare.main(["a", "b", "--output", "a"]) == 2
    assert "a: holds results, whose report would be lost" in capsys.readouterr().err
    assert (folders / "a/report.html").read_text() == report
    (folders / "mine").mkdir()
    (folders / "mine/report.html").write_text("my own")
    assert compare.main(["a", "b", "--output", "mine"]) == 2
    assert "mine: is not empty" in capsys.readouterr().err
    assert compare.main(["a", "b", "--output", "toy.yaml"]) == 2
    assert "toy.yaml: is a file" in capsys.readouterr().err
    for _ in range(2):  # its own page is written anew
        assert compare.main(["a", "b", "--output", "page", "--quiet"]) == 0


def test_two_sweeps_are_paired_cell_by_cell(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = {"server.policy": ["contiguous"], "server.max_num_seqs": [4, 1]}
    sweep = {"grid": grid, "replications": 3, "cell_reports": "none"}
    Path("sweep.yaml").write_text(dump_yaml({**TOY, "sweep": sweep}))
    words = ["sweep.yaml", "--executor", "serial", "--quiet", "--set", "workload.num_requests=60"]
    assert run.main([*words, "--output", "s1"]) == 0
    assert run.main([*words, "--output", "s2", "--set", "server.max_model_len=12"]) == 0
    assert compare.main(["s1", "s2"]) == 0
    assert "3 runs with equal seeds, paired" in capsys.readouterr().out
    assert compare.main(["s1", "s2", "--output", "page"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "2 of 12 numbers differ beyond chance, in 2 of 2 cells: written / reserved, per step (2×)."
    )
    rows = [line.split()[3] for line in lines[1:] if "max_num_seqs" in line]
    assert rows == sorted(rows, reverse=True)  # as the plan has them
    assert set(rows) == {"1", "4"}
    text = (folders / "page/report.md").read_text()
    assert "| cell | | s1 | s2 |" in text
    assert "| policy contiguous, max_num_seqs 4 | running, over time |" in text
    next((folders / "s2/runs").glob("*.json")).write_text("{}")
    assert compare.main(["s1", "s2"]) == 2
    assert "is damaged; delete it and let '--resume' run it again" in capsys.readouterr().err
    assert compare.main(["s1", "a"]) == 2
    assert "one is a sweep and one is a run" in capsys.readouterr().err
