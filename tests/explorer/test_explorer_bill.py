"""The bill: the chapter's numbers, and the table that the page must satisfy too."""

from __future__ import annotations

import pytest

from wastesim.catalog import find_model, model_names
from wastesim.explorer.bill import Asked, bill
from wastesim.explorer.facts import CACHE_DTYPES, catalog_tree
from wastesim.units import GIB

from .bill_table import asked_of, row, saved


def test_the_chapter_s_question_has_the_chapter_s_answers() -> None:
    found = bill(find_model("llama-3-8b"), Asked())
    assert found.bytes_per_token == 131_072
    assert found.cache_bytes == 16 * GIB
    assert round(found.weights_bytes / GIB, 2) == 14.96
    assert found.largest == 126


def test_half_the_bytes_hold_twice_the_requests() -> None:
    wide, narrow = (bill(find_model("llama-3-8b"), Asked(dtype=d)) for d in ("float16", "fp8"))
    assert narrow.bytes_per_token * 2 == wide.bytes_per_token
    assert narrow.capacity_cells == 2 * wide.capacity_cells


def test_windows_kept_at_their_length_take_less_and_let_more_in() -> None:
    found = bill(find_model("gemma-3-27b-it"), Asked(context=32_768))
    assert found.windowed_cache_bytes < found.cache_bytes / 4
    assert found.windowed_largest > found.largest


def test_no_room_is_zero_requests_and_not_less() -> None:
    found = bill(find_model("llama-3.1-405b"), Asked())
    assert (found.capacity_cells, found.largest) == (0, 0)
    assert found.free_bytes < 0


def test_the_table_has_every_model_of_the_catalog() -> None:
    missing = set(model_names()) - {line["model"] for line in saved()}
    assert not missing, "write it anew: python tests/explorer/bill_table.py"


@pytest.mark.parametrize("line", saved(), ids=lambda line: f"{line['model']} {line['dtype']}")
def test_python_satisfies_the_table(line: dict[str, str]) -> None:
    assert row(line["model"], asked_of(line)) == line


def test_the_page_is_given_every_model_type_and_card() -> None:
    tree = catalog_tree()
    assert [model["name"] for model in tree["models"]] == list(model_names())
    sides = {side for dtype in CACHE_DTYPES for side in dtype.split("/")}
    assert sides <= set(tree["formats"])
    assert tree["gpus"]["a100-sxm-40gb"] == 40 * GIB
