"""The bill in a real browser: its numbers are Python's, for every model of the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

import pytest

from wastesim.catalog import find_model, model_names
from wastesim.explorer.bill import Asked, bill
from wastesim.units import GIB

from ..explorer.bill_table import asked_of, grid, saved
from .chromium import Browser

pytestmark = pytest.mark.browser
Opened = Callable[..., Browser]
RESULTS = (
    "bytes_per_token", "cache_bytes", "windowed_cache_bytes", "weights_bytes", "usable_bytes",
    "free_bytes", "capacity_cells", "largest", "windowed_largest",
)  # fmt: skip


def of_the_page(browser: Browser, asked: Sequence[tuple[str, Asked]]) -> list[dict[str, str]]:
    """What the page's formulas make of all these questions."""
    names = {"card_bytes": "cardBytes", "utilization": "share", "overhead_bytes": "overheadBytes"}
    lines = [[name, {names.get(k, k): v for k, v in asdict(one).items()}] for name, one in asked]
    found: list[dict[str, str]] = browser.js(
        f"{json.dumps(lines)}.map(([name, asked]) => wastesim.bill.row(name, asked))"
    )
    return found


def text(browser: Browser, name: str) -> str:
    said: str = browser.js(f"document.getElementById('{name}').textContent")
    return said.replace("\u00a0", " ")


def type_into(browser: Browser, name: str, value: str) -> None:
    """Replace what stands in a field, by keys."""
    browser.click(f"#{name}")
    browser.js(f"document.getElementById('{name}').select()")
    browser.send("Input.insertText", text=value)


def choose(browser: Browser, name: str, value: str) -> None:
    browser.js(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = '{value}';"
        " for (const kind of ['input', 'change'])"
        " e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


def test_the_page_satisfies_the_table_of_cases(opened: Opened) -> None:
    lines = saved()
    found = of_the_page(opened("panel=bill"), [(line["model"], asked_of(line)) for line in lines])
    assert found == [{key: line[key] for key in RESULTS} for line in lines]


def test_the_page_equals_python_over_a_grid_of_inputs(opened: Opened) -> None:
    asked = list(grid())
    expected = [
        {key: str(value) for key, value in asdict(bill(find_model(name), one)).items()}
        for name, one in asked
    ]
    assert of_the_page(opened("panel=bill"), asked) == expected


def test_the_chapter_s_numbers_stand_on_the_page(opened: Opened) -> None:
    browser = opened("panel=bill")
    assert text(browser, "b-per-token") == "131.1 kB"
    assert text(browser, "b-cache") == "16.0 GiB"
    assert text(browser, "b-weights") == "14.96 GiB"
    assert text(browser, "b-largest") == "126"
    assert "52 % of weights and cache" in text(browser, "b-said")


@pytest.mark.parametrize("name", model_names())
def test_choosing_a_model_shows_its_bill(opened: Opened, name: str) -> None:
    browser = opened("panel=bill")
    choose(browser, "b-model", name)
    found = bill(find_model(name), Asked())
    assert text(browser, "b-per-token-why").startswith(f"{found.bytes_per_token:,} B = ")
    assert text(browser, "b-largest") == f"{found.largest:,}"
    row = browser.js(f"document.querySelector('#b-all [data-model=\"{name}\"]').className")
    assert row == "chosen"


def test_every_field_changes_the_bill_and_the_fragment(opened: Opened) -> None:
    browser = opened("panel=bill")
    type_into(browser, "b-context", "8192")
    type_into(browser, "b-requests", "100")
    type_into(browser, "b-memory", "141")
    type_into(browser, "b-overhead", "3")
    type_into(browser, "b-share", "0.9")
    choose(browser, "b-dtype", "fp8")
    asked = Asked("fp8", 8192, 100, 141 * GIB, 0.9, 3 * GIB)
    assert text(browser, "b-largest") == str(bill(find_model("llama-3-8b"), asked).largest)
    browser.wait("location.hash.includes('dtype=fp8')")
    for word in ("context=8192", "requests=100", "memory=141", "overhead=3", "share=0.9"):
        assert word in browser.js("location.hash")


def test_a_card_fills_in_its_memory(opened: Opened) -> None:
    browser = opened("panel=bill")
    choose(browser, "b-gpu", "40")
    assert browser.js("document.getElementById('b-memory').value") == "40"
    found = bill(find_model("llama-3-8b"), Asked(card_bytes=40 * GIB))
    assert text(browser, "b-largest") == str(found.largest)


def test_the_bar_turns_red_and_says_by_how_much(opened: Opened) -> None:
    browser = opened("panel=bill&requests=126")
    assert not browser.js("document.querySelector('.memory').classList.contains('over')")
    browser = opened("panel=bill&requests=127")
    assert browser.js("document.querySelector('.memory').classList.contains('over')")
    assert "do not fit: 0.46 GiB too much" in text(browser, "b-said")
    label = browser.js("document.querySelector('.memory').getAttribute('aria-label')")
    assert "too much of 80.0 GiB" in label.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("context", "0", "Context must be"), ("requests", "1.5", "Requests must be"),
     ("memory", "-3", "GPU memory must be"), ("share", "2", "gpu_memory_utilization must be")],
)  # fmt: skip
def test_nonsense_is_named_and_changes_nothing(
    opened: Opened, field: str, value: str, said: str
) -> None:
    browser = opened("panel=bill")
    type_into(browser, f"b-{field}", value)
    assert text(browser, "b-problem").startswith(said)
    assert text(browser, "b-largest") == "126"


def test_a_row_of_the_table_chooses_its_model(opened: Opened) -> None:
    browser = opened("panel=bill")
    browser.click("#b-all [data-model='gemma-2-9b'] button")
    assert browser.js("document.getElementById('b-model').value") == "gemma-2-9b"
    assert "21 of its layers look at the last 4,096 tokens only" in text(browser, "b-windows")
    assert browser.js("document.activeElement.textContent") == "gemma-2-9b"
