"""`wastesim VERB ...`: the verbs are the modules."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import wastesim
from wastesim.__main__ import VERBS, main, module_of


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_lists_every_verb(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: wastesim VERB ...")
    assert all(verb in printed and purpose in printed for verb, purpose in VERBS.items())


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_the_version_is_printed(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"wastesim {wastesim.__version__}\n"


@pytest.mark.parametrize(
    ("word", "hint"), [("rnu", "; did you mean 'run'?"), ("zzz", ""), ("Run", "; did you mean")]
)
def test_an_unknown_verb_names_the_nearest(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: '{word}' is not a verb{hint}")
    assert "(known: run" in line


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_module_that_explains_itself(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(import_module(module_of(verb)).main)
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    assert caught.value.code == 0
    assert f"wastesim {verb}" in capsys.readouterr().out


@pytest.mark.parametrize("module", [*map(module_of, VERBS), "wastesim.report.__main__"])
def test_options_that_cannot_be_read_are_told_in_one_line(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        import_module(module).main(["--no-such-option"])
    assert caught.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert line.endswith("--help' lists the options")


def test_the_words_behind_the_verb_are_the_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.yaml"
    assert main(["run", str(missing)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {missing}: cannot be read")


@pytest.mark.parametrize(
    "module", ["wastesim", "wastesim.run", "wastesim.workload", "wastesim.clockfit"]
)
def test_verbs_run_as_modules(module: str) -> None:
    command = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: wastesim")
    assert done.stderr == ""


#: Verbs that read a folder of results.
READERS = [("explore", []), ("report.__main__", []), ("compare", []),
           ("sweep.__main__", ["status"])]  # fmt: skip


@pytest.mark.parametrize(("module", "words"), READERS, ids=str)
def test_a_folder_that_is_not_there_or_is_a_file_is_told(
    module: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("summary.json").write_text("{}", encoding="utf-8")
    verb = import_module(f"wastesim.{module}").main
    for name, said in [
        ("nope", "does not exist"),
        ("summary.json", "is not a folder of results"),
    ]:
        second = ["."] if module == "compare" else []
        assert verb([*words, name, *second]) == 2
        assert capsys.readouterr().err == (
            f"error: {name}: {said}; name the folder that a run was written to\n"
        )
