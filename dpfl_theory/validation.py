"""Validations: scripts that redo one figure or table of a paper, or plot one theorem's bound against reality.

A script is one Python file of the folder ``validations/``. It defines ``TITLE``, ``CAPTION``, ``SOURCE`` (a mapping
with ``paper`` and ``where``), ``BUDGET_SECONDS`` (profile -> seconds on 2 cores) and two functions:

* ``compute(context) -> dict``: plain JSON data (NumPy arrays are turned into lists, numbers that are not finite into
  None). Its key ``configuration`` says what was run; ``claims`` is a list of mappings with ``claim`` (the printed
  sentence as a predicate), ``verdict`` (one of `CLAIM_VERDICTS`), ``paper`` and ``measured`` (what each says). A claim
  may record under ``expected`` the verdict it is known to get; another verdict then makes the exit code 1.
* ``draw(data) -> dict[str, Figure]``: figures from that data alone, as read back from the file. The key ``""`` stands
  for the file ``<name>.png``, any other key for ``<name>-<key>.png``.

A script that can use the user's own data also defines ``DATA``, a phrase that says what file it takes; the file's path
is then ``context.data``, None when none was given, and its name and SHA-256 are recorded in the configuration.

It ends with ``if __name__ == "__main__": raise SystemExit(main(__file__))`` and so runs on its own as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import math
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dpfl_theory.console import Progress, choice, parse_seed, run_app, say, writable, write
from dpfl_theory.errors import DpflError, InputError, unknown_name
from dpfl_theory.kernels import DEVICES, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "CLAIM_VERDICTS",
    "PROFILES",
    "SCHEMA",
    "Context",
    "Script",
    "available",
    "load",
    "main",
    "redraw",
    "run",
    "run_all",
]

SCHEMA = "dpfl-theory/validation/1"
PROFILES = ("quick", "full")
CLAIM_VERDICTS = ("reproduced", "not-reproduced", "inconclusive")

T = TypeVar("T")


def _silent(share: float) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True)
class Context:
    """How a validation is to be run: profile ``quick`` or ``full``, seed of all randomness, device, the user's data
    file for a script that takes one, and what to call with the share of the work that is done."""

    profile: str = "quick"
    seed: int = 0
    device: str = "auto"
    data: str | None = None
    progress: Callable[[float], None] = _silent

    def pick(self, *, quick: T, full: T) -> T:
        """The value for this profile.

        >>> Context(profile="full").pick(quick=3, full=64)
        64
        """
        return full if self.profile == "full" else quick

    def part(self, index: int, of: int) -> Callable[[float], None]:
        """The progress callback of part ``index`` (from 0) of ``of`` equal parts."""
        return lambda share: self.progress((index + share) / of)


@dataclass(frozen=True)
class Script:
    """A validation script that was loaded."""

    name: str
    path: Path
    title: str
    caption: str
    source: Mapping[str, str]
    compute: Callable[[Context], Mapping[str, Any]]
    draw: Callable[[Mapping[str, Any]], Mapping[str, Figure]]
    budget: Mapping[str, float] = field(default_factory=dict)
    data: str | None = None
    """What data file the script takes; None when it takes none."""


def folder() -> Path:
    """The folder of scripts: ``validations`` of the current directory, else the one next to the package."""
    for place in (Path.cwd() / "validations", Path(__file__).resolve().parents[1] / "validations"):
        if place.is_dir():
            return place
    raise InputError("there is no folder 'validations' here: run the command in a checkout of the package")


def available(place: Path | None = None) -> dict[str, Path]:
    """The scripts by name, which is the file's name without ``.py``; names that begin with ``_`` are helpers."""
    scripts = sorted((place or folder()).glob("*.py"))
    return {path.stem: path for path in scripts if not path.stem.startswith("_")}


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Modules beside a script can be imported, as they can when it runs on its own."""
    entry = str(path.resolve().parent)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def load(path: Path) -> Script:
    """The script in this file. Raises InputError when it cannot be imported or lacks what a script must define."""
    if not path.is_file():
        raise InputError(f"validation script {str(path)!r} does not exist: give the path of a Python file")
    spec = importlib.util.spec_from_file_location(f"dpfl_theory_validation_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"validation script {str(path)!r} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module there
    try:
        with _beside(path):
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[spec.name]
        raise InputError(
            f"validation script {str(path)!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    needed = ("TITLE", "CAPTION", "SOURCE", "BUDGET_SECONDS", "compute", "draw")
    missing = [name for name in needed if not hasattr(module, name)]
    if missing:
        raise InputError(f"validation script {str(path)!r} does not define {', '.join(missing)}: add what is missing")
    return Script(
        path.stem,
        path,
        module.TITLE,
        module.CAPTION,
        module.SOURCE,
        module.compute,
        module.draw,
        module.BUDGET_SECONDS,
        getattr(module, "DATA", None),
    )


def plain(value: Any, where: str = "data") -> Any:
    """The value as JSON data: arrays as lists, numbers that are not finite as None. TypeError names what is neither."""
    if isinstance(value, Mapping):
        return {str(k): plain(v, f"{where}[{k!r}]") for k, v in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist(), where)
    if isinstance(value, (list, tuple)):
        return [plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    raise TypeError(f"{where} is a {type(value).__name__}, which JSON has no place for")


def _checked(data: Any, name: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise TypeError(f"compute() of {name} returned a {type(data).__name__} instead of a dict")
    made: dict[str, Any] = plain(data)
    for claim in made.get("claims", []):
        lacking = {"claim", "verdict", "paper", "measured"} - set(claim)
        if lacking:
            raise TypeError(f"a claim of {name} lacks {', '.join(sorted(lacking))}")
        if claim["verdict"] not in CLAIM_VERDICTS:
            raise TypeError(
                f"a claim of {name} has the verdict {claim['verdict']!r}, none of {', '.join(CLAIM_VERDICTS)}"
            )
    return made


def command(name: str, context: Context) -> str:
    """The command that repeats a validation; of a data file it says the name, not the folder.

    >>> command("hou2023_figure12", Context(data="somewhere/my data.txt"))
    "dpfl-theory validate hou2023_figure12 --data 'my data.txt' --seed 0"
    """
    data = "" if context.data is None else f" --data {shlex.quote(Path(context.data).name)}"
    return f"dpfl-theory validate {name}{context.pick(quick='', full=' --full')}{data} --seed {context.seed}"


def _fingerprint(path: str) -> dict[str, str]:
    """What identifies a data file wherever it lies."""
    return {"name": Path(path).name, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def run(script: Script, context: Context, output: Path) -> dict[str, Any]:
    """Run a script and leave ``evidence/<name>.json`` and ``figures/<name>*.{png,svg}`` in the output folder.

    Nothing is written unless everything worked. Returns the document that was written.
    """
    from dpfl_theory.checks.evidence import versions

    device = select(context.device).description
    begun = time.perf_counter()
    with _beside(script.path):
        data = _checked(script.compute(context), script.name)
    if context.data is not None:
        data["configuration"] = {**data.get("configuration", {}), "data file": _fingerprint(context.data)}
    document = {
        "schema": SCHEMA,
        "name": script.name,
        "title": script.title,
        "caption": script.caption,
        "source": dict(script.source),
        "command": command(script.name, context),
        "profile": context.profile,
        "seed": context.seed,
        "device": device,
        "versions": versions(),
        "seconds": round(time.perf_counter() - begun, 3),
        "data": data,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    figures = redraw(script, json.loads(text))
    target = _subfolder(output, "evidence") / f"{script.name}.json"
    _leave(figures, _subfolder(output, "figures"), script.name)
    write(target, text)
    return document


def redraw(script: Script, document: Mapping[str, Any]) -> dict[str, bytes]:
    """The figures of a document by file name, drawn from its data alone."""
    from dpfl_theory.report import style

    with _beside(script.path), style.look():
        drawn = script.draw(document["data"])
    files: dict[str, bytes] = {}
    for key, figure in drawn.items():
        if not re.fullmatch(r"[A-Za-z0-9._-]*", key):
            raise ValueError(f"draw() of {script.name} names a figure {key!r}: use letters, digits, dots and hyphens")
        stem = f"{script.name}-{key}" if key else script.name
        files.update({f"{stem}.{kind}": content for kind, content in style.render(figure).items()})
    return files


def _leave(files: Mapping[str, bytes], place: Path, name: str) -> None:
    """Write the figures, and remove those of the same script that it no longer draws."""
    for file, content in files.items():
        write(place / file, content)
    for old in (*place.glob(f"{name}.*"), *place.glob(f"{name}-*.*")):
        if old.suffix in (".png", ".svg") and old.name not in files:
            old.unlink()


def _subfolder(output: Path, name: str) -> Path:
    place = output / name
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {str(place)!r}: {error.strerror}; choose another --output") from error
    return place


def run_all(scripts: Iterable[Script], context: Context, output: Path) -> int:
    """Run scripts one after the other, telling on stderr what runs and what came out; returns the exit code.

    0 unless a claim has another verdict than its script records as ``expected`` (1; 3 when all such are inconclusive).
    A script that fails does not keep the others from running; its own exit code is returned then.
    """
    surprises: set[str] = set()
    failure = 0
    for script in scripts:
        budget = script.budget.get(context.profile)
        say(f"{script.name}: {script.title} ({context.profile}{f', about {budget:g} s' if budget else ''})")
        try:
            with Progress(f"  {script.name}") as progress:
                document = run(script, replace(context, progress=progress), output)
        except DpflError as error:
            say(f"  {script.name} failed: {error}")
            failure = failure or error.exit_code
            continue
        for claim in document["data"].get("claims", []):
            if claim["verdict"] != claim.get("expected", claim["verdict"]):
                surprises.add(claim["verdict"])
        say(f"  {_outcome(document)} in {document['seconds']:.1f} s: {output / 'evidence' / script.name}.json")
    if failure or not surprises:
        return failure
    return 3 if surprises == {"inconclusive"} else 1


def _outcome(document: Mapping[str, Any]) -> str:
    verdicts = [claim["verdict"] for claim in document["data"].get("claims", [])]
    counts = [f"{verdicts.count(v)} {v}" for v in CLAIM_VERDICTS if v in verdicts]
    return f"claims: {', '.join(counts)}" if counts else "done"


def validate(
    names: Sequence[str],
    *,
    full: bool,
    output: str,
    seed: str,
    device: str,
    data: str | None = None,
    place: Path | None = None,
) -> int:
    """Run the named scripts (all when none is named) with options as the command line gives them."""
    known = available(place)
    for name in names:
        if name not in known:
            raise unknown_name("validation", name, known)
    if not known:
        raise InputError(f"there is no validation script in {str(place or folder())!r}")
    context = Context("full" if full else "quick", parse_seed(seed), choice("device", device, DEVICES), data)
    target = writable(Path(output), folder=True)
    if device == "cuda":
        select(device)
    scripts = [load(known[name]) for name in (names or known)]
    if data is not None:
        _usable(data, names, scripts)
    return run_all(scripts, context, target)


def _usable(data: str, names: Sequence[str], scripts: Sequence[Script]) -> None:
    """Raise InputError unless the data file is there and each script, which must be named, takes one."""
    if not names:
        takers = ", ".join(script.name for script in scripts if script.data is not None) or "none here does"
        raise InputError(f"--data {data!r} is for no particular validation: name one that takes a file ({takers})")
    for script in scripts:
        if script.data is None:
            raise InputError(f"validation {script.name!r} takes no data file: leave out --data {data!r}")
    if not Path(data).is_file():
        raise InputError(f"data file {data!r} does not exist: give {scripts[0].data}")


def main(file: str, arguments: Sequence[str] | None = None) -> int:
    """Run one script on its own: ``python validations/NAME.py [--full] [--output DIR] [--seed N] [--device D] [--data
    FILE]``."""
    path = Path(file).resolve()
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command(help=f"Run the validation {path.stem} and leave its evidence and figures in a folder.")
    def script(
        full: Annotated[bool, typer.Option("--full", help="The full profile instead of the quick one.")] = False,
        output: Annotated[str, typer.Option(metavar="DIR", help="Folder for evidence and figures.")] = "reports",
        seed: Annotated[str, typer.Option(metavar="N", help="Seed of all randomness.")] = "0",
        device: Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where the kernels run.")] = "auto",
        data: Annotated[str | None, typer.Option(metavar="FILE", help="Your data, if the script takes any.")] = None,
    ) -> int:
        return validate([path.stem], full=full, output=output, seed=seed, device=device, data=data, place=path.parent)

    return run_app(app, arguments, program=path.name)
