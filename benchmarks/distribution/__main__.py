"""Build wheel and sdist, and test the wheel: ``python -m benchmarks.distribution [--output FILE]``.

For each interpreter: a fresh environment, and a repository with its own theorems and the workflow of ``new ci``. The
workflow's steps run verbatim, then again with a planted mistake, where they must fail, then a new user's commands.
Finally ``pipx run``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks.distribution import stranger
from benchmarks.distribution.workflow import steps

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_sdist(to); b.build_wheel(to)"
KNOWN = ("python3.11", "python3.12", "python3.13")


class Tried:
    """The tests, printed as they end, and the failures."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.rows = ["| Python | tried | outcome | seconds |", "| --- | --- | --- | ---: |"]
        print(*self.rows, sep="\n", flush=True)

    def __call__(self, python: str, what: str, good: bool, seconds: float, said: str = "") -> None:
        self.rows.append(f"| {python} | {what} | {'as it should' if good else 'WRONG'} | {seconds:.1f} |")
        print(self.rows[-1], flush=True)
        if not good:
            self.wrong.append(f"{python}: {what}\n{said}")


def run(
    command: list[str], folder: Path, environment: dict[str, str]
) -> tuple[subprocess.CompletedProcess[str], float]:
    """The completed command, and its seconds."""
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    return done, time.monotonic() - started


def working(name: str) -> str | None:
    """The path of an interpreter that starts; some names belong to programs that only look for one."""
    path = shutil.which(name)
    if path is None or subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:
        return None
    return path


def sources(place: Path) -> Path:
    """A copy of the files in git, so that no other file can get into a distribution."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place


def surroundings(place: Path, dist: Path) -> dict[str, str]:
    """The environment variables of a new user, whose pip finds our wheel and installs the tested versions."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DPFL", "VIRTUAL_ENV"))}
    pip = {"PIP_FIND_LINKS": str(dist), "PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_QUIET": "1"}
    return {**kept, **pip, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "HOME": str(place)}


def one_python(interpreter: str, place: Path, dist: Path, tried: Tried) -> None:
    """All tests with one interpreter."""
    environment = surroundings(place, dist)
    found, _ = run([interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], place, environment)
    python = found.stdout.strip()
    venv, theirs, elsewhere = place / f"venv{python}", place / f"theirs{python}", place / f"elsewhere{python}"
    subprocess.run([interpreter, "-m", "venv", venv], check=True)
    environment["PATH"] = f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"
    stranger.repository(theirs, ROOT / "examples")
    text = (ROOT / "dpfl_theory" / "templates" / "ci.yml").read_text()
    version = next(dist.glob("*.whl")).name.split("-")[1]
    workflow = yaml.safe_load(text.replace("@PACKAGE@", f"dpfl-theory=={version}"))
    for step in steps(workflow, theirs, python, environment):
        good = step.code == 0 and (step.name != "Test" or "4 passed" in step.said)
        tried(python, f"workflow: {step.name}", good, step.seconds, step.said)
    for name in ("theorems/junit.xml", "theorems/index.html"):
        tried(python, f"workflow: {name} is there", (theirs / name).is_file(), 0.0)
    done, seconds = run(["dpfl-theory", "new", "ci"], theirs, environment)
    written = theirs / ".github" / "workflows" / "theorems.yml"
    same = done.returncode == 0 and yaml.safe_load(written.read_text()) == workflow
    tried(python, "new ci writes this workflow", same, seconds, done.stderr)
    stranger.plant(theirs)
    codes = {step.name: step for step in steps(workflow, theirs, python, environment)}
    test = codes["Test"]
    good = test.code == 1 and "outside.nesterov: verdict violated" in test.said and codes["Report"].code == 0
    tried(python, "workflow with a planted mistake fails", good, test.seconds, test.said)
    elsewhere.mkdir()
    started, _ = run(["dpfl-theory", "new", "--help"], elsewhere, environment)
    for command, (part, code) in stranger.COMMANDS.items():
        if stranger.OWN in command and not re.search(r"^ +theorem ", started.stdout, re.MULTILINE):
            continue  # a version without 'new theorem'
        done, seconds = run(["dpfl-theory", *command.split()], elsewhere, environment)
        good = done.returncode == code and part in done.stdout and "Traceback" not in done.stderr
        tried(python, f"dpfl-theory {command}", good, seconds, (done.stdout + done.stderr)[-2000:])


def with_pipx(interpreter: str, place: Path, dist: Path, tried: Tried) -> None:
    """``pipx run`` of the wheel, with a pipx in its own environment."""
    environment = surroundings(place, dist)
    subprocess.run([interpreter, "-m", "venv", place / "pipx"], check=True)
    subprocess.run([place / "pipx" / "bin" / "pip", "install", "pipx"], check=True, env=environment)
    environment |= {"PIPX_HOME": str(place / "pipx-home"), "PIPX_BIN_DIR": str(place / "pipx-bin")}
    (wheel,) = dist.glob("*.whl")
    command = [str(place / "pipx" / "bin" / "pipx"), "run", "--spec", str(wheel), "dpfl-theory", "list"]
    done, seconds = run(command, place, environment)
    good = done.returncode == 0 and "das2022.theorem4a" in done.stdout
    tried("pipx", "pipx run --spec dist/*.whl dpfl-theory list", good, seconds, done.stderr[-2000:])


def main() -> int:
    """Run all tests; 1 where some result was not as expected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", help="an interpreter; may be repeated")
    parser.add_argument("--output", type=Path, help="a file for the table")
    given = parser.parse_args()
    known = {} if given.python else {name: working(name) for name in KNOWN}
    pythons = given.python or [path for path in known.values() if path]
    tried = Tried()
    with tempfile.TemporaryDirectory(prefix="stranger-") as folder:
        place = Path(folder)
        dist = place / "dist"
        subprocess.run(
            [sys.executable, "-c", BUILD, dist], cwd=sources(place / "tree"), check=True, capture_output=True
        )
        shutil.rmtree(place / "tree")
        for python in pythons:
            one_python(python, place, dist, tried)
        if pythons:
            with_pipx(pythons[0], place, dist, tried)
    missing = [name for name, path in known.items() if path is None]
    for name in missing:
        print(f"not tried: there is no {name} here", file=sys.stderr)
    if given.output is not None:
        message = "`make dist-check` writes this file: the wheel in fresh environments, as a stranger has it."
        given.output.write_text("\n".join(["# The wheel with each Python", "", message, "", *tried.rows, ""]))
    for text in tried.wrong:
        print(f"\nWRONG {text}", file=sys.stderr)
    return 1 if tried.wrong or not pythons else 0


if __name__ == "__main__":
    raise SystemExit(main())
