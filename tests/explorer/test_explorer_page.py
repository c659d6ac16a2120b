"""The page: whole, offline, small; and the verb that writes it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from wastesim.explore import main, saved_parts
from wastesim.explorer import explorer_page, write_explorer
from wastesim.explorer.page import SCRIPTS, STYLES
from wastesim.report.palette import TONES

from .runs import part

ASSETS = files("wastesim.explorer") / "assets"


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    data: dict[str, object] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def page() -> str:
    return explorer_page([part("contiguous")], report="report.html")


def test_nothing_is_fetched(page: str) -> None:
    references = re.findall(r"""(?:src|href)=["']([^"'#$]+)["']|url\(([^)]+)\)""", page)
    assert [one for pair in references for one in pair if one] == ["data:,"]
    assert "default-src 'none'" in page
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|import\(|navigator\.sendBeacon", page)


def test_no_hole_of_the_template_is_left(page: str) -> None:
    assert not re.findall(r"/\*(?:light|dark|styles|scripts)\*/|<!--(?:data|runs)-->", page)


def test_the_palette_is_that_of_the_figures(page: str) -> None:
    for tone in TONES.values():
        assert tone.light in page
        assert tone.dark in page


def test_every_asset_is_used_and_short() -> None:
    names = {one.name for one in ASSETS.iterdir()}
    assert names == {*SCRIPTS, *STYLES, "explorer.html"}
    assert all(len(one.read_text(encoding="utf-8").splitlines()) <= 250 for one in ASSETS.iterdir())


def test_ids_are_unique_and_labels_name_fields(page: str) -> None:
    static = page.split("<script")[0]
    ids = re.findall(r'\bid="([^"]+)"', static)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'\bfor="([^"]+)"', static)) <= set(ids)
    assert set(re.findall(r'aria-(?:controls|labelledby)="([^"]+)"', static)) <= set(ids)


def test_text_cannot_end_the_element_it_stands_in() -> None:
    one = part("contiguous")
    facts = type(one.records.facts)(**{**vars(one.records.facts), "name": "</script><b>"})
    records = type(one.records)(one.records.requests, one.records.ticks, one.records.spans, facts)
    data = data_of(explorer_page([one._replace(records=records)]))
    assert str(data["headline"]).startswith("</script><b>")


def test_a_small_run_is_a_small_page(page: str) -> None:
    assert len(page.encode()) < 2e6


def test_a_page_without_a_run_is_whole_too() -> None:
    data = data_of(explorer_page([]))
    assert data["recorded"] == {"from_s": 0, "to_s": 0, "notes": [], "runs": []}


def test_it_is_the_same_every_time(page: str) -> None:
    assert explorer_page([part("contiguous")], report="report.html") == page


def test_write_explorer_returns_the_file(tmp_path: Path, page: str) -> None:
    target = write_explorer([part("contiguous")], tmp_path, report="report.html")
    assert target == tmp_path / "explorer.html"
    assert target.read_text(encoding="utf-8") == page


def test_the_verb_fills_the_page_with_saved_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part("contiguous").records.save(tmp_path)
    target = tmp_path / "page.html"
    assert main([str(tmp_path), "--output", str(target)]) == 0
    assert capsys.readouterr().out == f"explorer: {target}\n"
    assert "60 requests" in str(data_of(target.read_text(encoding="utf-8"))["headline"])


def test_variants_are_read_in_the_order_of_the_experiment(tmp_path: Path) -> None:
    for name in ("paged", "contiguous"):
        (tmp_path / "variants" / name).mkdir(parents=True)
        part(name).records.save(tmp_path / "variants" / name)
    (tmp_path / "resolved.yaml").write_text("compare:\n  paged: {}\n  contiguous: {}\n")
    assert [one.name for one in saved_parts(tmp_path)] == ["paged", "contiguous"]


def test_a_folder_without_records_is_an_error_that_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert "holds no facts.json; records are saved by runs with" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part("contiguous").records.save(tmp_path)
    assert main([str(tmp_path), "--output", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot be written (No such file or directory)" in capsys.readouterr().err


def test_open_hands_the_file_to_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    part("contiguous").records.save(tmp_path)
    assert main([str(tmp_path), "--output", str(tmp_path / "p.html"), "--open", "--quiet"]) == 0
    assert opened == [(tmp_path / "p.html").resolve().as_uri()]
