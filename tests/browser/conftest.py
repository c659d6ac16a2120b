"""One browser for all tests, and the pages that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wastesim.explore import EXAMPLE
from wastesim.explorer import explorer_page
from wastesim.report.comparison_parts import Part

from .chromium import Browser, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if chromium() is None:
        pytest.fail("there is no chromium; on Debian: apt-get install chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as driven:
        driven.send(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip
        driven.show(1280, 900)
        yield driven


@pytest.fixture(scope="session")
def one() -> Part:
    """The default experiment's requests, accounted only."""
    return simulated(200, "contiguous")


@pytest.fixture(scope="session")
def four() -> list[Part]:
    """The example that fills a page when there is no run."""
    from wastesim.result import load_experiment
    from wastesim.studies.comparison import compare

    return compare(load_experiment(EXAMPLE)).parts()


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory, one: Part) -> str:
    return saved(tmp_path_factory, "one.html", [one])


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory, four: list[Part]) -> str:
    return saved(tmp_path_factory, "four.html", four)


@pytest.fixture
def opened(browser: Browser, page: str) -> Iterator[Callable[[str], Browser]]:
    """`opened("panel=bill")`; whatever a test does, the console stays silent."""

    def go(fragment: str = "", uri: str = page) -> Browser:
        browser.show(1280, 900)
        browser.open(f"{uri}#{fragment}" if fragment else uri)
        return browser

    yield go
    noise = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert browser.told(*noise) == []
    asked = [event["request"]["url"] for event in browser.told("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == 1


def simulated(num_requests: int, policy: str, **server: Any) -> Part:
    from wastesim.result import load_experiment, run_one

    tree = {
        "name": "default",
        "model": "llama-3-8b",
        "gpu": "a100-sxm-40gb",
        "workload": {"lengths": "sharegpt", "num_requests": num_requests, "request_rate": 40},
        "server": {"policy": policy, "max_model_len": 2048, **server},
        "decode": {"engine": "none"},
    }
    result = run_one(load_experiment(tree))
    return Part(policy, result.records, result.summary)


def saved(factory: pytest.TempPathFactory, name: str, parts: list[Part]) -> str:
    target: Path = factory.mktemp("page") / name
    target.write_text(explorer_page(parts, report="report.html"), encoding="utf-8")
    return target.as_uri()
