"""A joint table reproduces its source: means, correlation, total, and the waste they imply."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.errors import InputError
from wastesim.workload.facts import facts_of, live_tokens, spearman
from wastesim.workload.joint import JointSource, read_table
from wastesim.workload.library import (
    library_folder,
    read_workload_file,
    workload_file,
    workload_names,
)
from wastesim.workload.shipped import make_shipped
from wastesim.workload.sources import open_lengths
from wastesim.workload.tables import make_table, write_table

from .workload_helpers import lengths, trace_file, workload

SAMPLES = 1_000_000
TABLES = [name for name in workload_names() if not name.endswith("-family")]


@pytest.fixture(scope="module", params=TABLES)
def named(request: pytest.FixtureRequest) -> tuple[dict, np.ndarray, np.ndarray, int | None]:
    path = workload_file(request.param, Path())
    file = read_workload_file(path)
    pairs = open_lengths(file.lengths, path.parent).draw(np.random.default_rng(7), SAMPLES)
    return file.facts, pairs.prompt, pairs.output, file.lengths.max_total


def test_means_are_within_half_a_percent_of_the_source(named) -> None:
    facts, prompt, output, _ = named
    # half a percent, plus what a million samples leave open
    slack_p, slack_o = (3 * x.std() / SAMPLES**0.5 for x in (prompt, output))
    p, o = facts["prompt_mean_tokens"], facts["output_mean_tokens"]
    assert prompt.mean() == pytest.approx(p, abs=0.005 * p + slack_p)
    assert output.mean() == pytest.approx(o, abs=0.005 * o + slack_o)


def test_rank_correlation_is_within_two_hundredths(named) -> None:
    facts, prompt, output, _ = named
    drawn = spearman(prompt[:300_000], output[:300_000])
    assert drawn == pytest.approx(facts.get("spearman", 0.0), abs=0.02)


def test_live_tokens_and_so_the_waste_are_within_one_percent(named) -> None:
    facts, prompt, output, _ = named
    if "live_tokens" not in facts:
        pytest.skip("the source publishes no figure from which live tokens could be known")
    assert live_tokens(prompt, output) == pytest.approx(facts["live_tokens"], rel=0.01)


def test_no_pair_exceeds_the_total(named) -> None:
    _, prompt, output, most = named
    assert prompt.min() >= 1
    assert output.min() >= 1
    assert most is None or (prompt + output).max() <= most


def test_sharegpt_has_the_published_facts() -> None:
    facts = read_workload_file(library_folder() / "sharegpt.yaml").facts
    assert facts["count"] == 79_731
    assert round(facts["prompt_mean_tokens"], 2) == 161.31
    assert round(facts["output_mean_tokens"], 2) == 337.99
    assert round(facts["live_tokens"], 2) == 459.19


def test_shipped_workloads_are_made_again_byte_by_byte_from_their_sources(tmp_path: Path) -> None:
    data = trace_file("sharegpt_opt_lengths.csv").parents[1]
    make_shipped(data, tmp_path)
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")}
    shipped = library_folder()
    assert made == {path.relative_to(shipped) for path in shipped.rglob("*.[yc]*")}
    for name in made:
        assert (tmp_path / name).read_bytes() == (shipped / name).read_bytes(), name


@pytest.mark.parametrize("name", [name for name in workload_names() if name not in TABLES])
def test_families_stand_near_their_source_and_count_what_they_redraw(name: str) -> None:
    facts = read_workload_file(workload_file(name, Path())).facts
    made = workload(lengths=name, num_requests=50_000)
    prompt, output = lengths(made.requests())
    assert prompt.mean() == pytest.approx(facts["prompt_mean_tokens"], rel=0.35)
    assert output.mean() == pytest.approx(facts["output_mean_tokens"], rel=0.35)
    assert all(count > 0 for count in made.counts.values())


def test_shipped_tables_are_small() -> None:
    assert all(path.stat().st_size < 200_000 for path in library_folder().glob("*.csv"))


@settings(deadline=None, max_examples=40)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=1, max_size=200),
    capped=st.booleans(),
    bins=st.integers(1, 20),
)
def test_any_pairs_give_a_table_whose_draws_stay_in_range(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], capped: bool, bins: int
) -> None:
    prompt, output = (np.array(column) for column in zip(*pairs, strict=True))
    most = int((prompt + output).max()) if capped else None
    path = tmp_path_factory.mktemp("table") / "t.csv"
    write_table(make_table(prompt, output, most, bins), path)
    drawn = JointSource(read_table(path, most)).draw(np.random.default_rng(0), 3000)
    assert drawn.prompt.min() >= prompt.min()
    assert drawn.prompt.max() <= prompt.max()
    assert drawn.output.min() >= 1
    assert (drawn.prompt + drawn.output).max() <= (most or 1800)


def test_facts_of_pairs_worked_out_by_hand() -> None:
    # o (p + (o - 1) / 2): 2 * 10.5 + 4 * 21.5 = 107; over 6 output tokens
    facts = facts_of(np.array([10, 20]), np.array([2, 4]))
    assert facts == {
        "count": 2,
        "prompt_mean_tokens": 15.0,
        "output_mean_tokens": 3.0,
        "live_tokens": round(107 / 6, 4),
        "max_total_tokens": 24,
        "spearman": 1.0,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: must have columns permille, prompt"),
        ("a,b,c\n", ":1: must have columns permille, prompt"),
        ("permille,prompt,9\n0,1,1\n1000,9,1\n", ":1: bins must be named like '<=23' (got '9')"),
        ("permille,prompt,<=9\n0,1,x\n", ":2: must be numbers"),
        ("permille,prompt,<=9\n0,1\n1000,9\n", ":2: must have 3 cells (got 2)"),
        ("permille,prompt,<=9\n0,1,1\n", "levels must rise from 0 to 1000"),
        ("permille,prompt,<=9\n0,1,1\n999,9,1\n", "levels must rise from 0 to 1000"),
        ("permille,prompt,<=9\n0,1,1\n1000,9,\n", "must be filled at levels 0 and 1000"),
        ("permille,prompt,<=9\n0,1,1\n500,10,\n1000,9,1\n", "prompts must be >= 1 and never fall"),
        ("permille,prompt,<=8\n0,1,1\n1000,9,1\n", "the last must hold the longest prompt"),
        ("permille,prompt,<=9\n0,1,5\n1000,9,1\n", "outputs must never fall"),
        ("permille,prompt,<=9\n0,1,0\n1000,9,1\n", "outputs must never fall"),
    ],
)
def test_a_broken_table_is_refused_with_its_reason(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_table(path, None)
    assert message in str(caught.value)
