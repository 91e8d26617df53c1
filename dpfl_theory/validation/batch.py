"""Runs scripts one beside the other, and one script from its own file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dpfl_theory.console import Progress, as_options, choice, parse_seed, run_app, say
from dpfl_theory.errors import DpflError, InputError, place, told, unknown_name
from dpfl_theory.kernels import DEVICES, select
from dpfl_theory.kernels.threads import usable_cores
from dpfl_theory.output import writable
from dpfl_theory.processes import one_thread, several, spread
from dpfl_theory.store import Store, reused
from dpfl_theory.usual import validation_seconds
from dpfl_theory.validation.run import CLAIM_VERDICTS, run
from dpfl_theory.validation.script import Context, Script, available, folder, home, load
from dpfl_theory.validation.stored import data_slot, figures_slot

__all__ = [
    "Ending",
    "Run",
    "attempt",
    "exit_code",
    "in_process",
    "main",
    "order_of",
    "seconds_of",
    "tell",
    "together",
    "validate",
]

INTERNAL = 70


@dataclass(frozen=True)
class Ending:
    """How a script ended: the verdicts of its claims, those that were not expected among them, or why it failed."""

    name: str
    verdicts: tuple[str, ...] = ()
    surprises: frozenset[str] = frozenset()
    seconds: float = 0.0
    failure: str = ""
    code: int = 0
    troubles: tuple[str, ...] = ()
    """What was wrong with the store."""


@dataclass(frozen=True)
class Run:
    """How scripts are run: the context, where they leave their files, the store that they use, and whether they take
    nothing from it; ``fit`` for another process."""

    context: Context
    output: Path
    store: Store | None = None
    fresh: bool = False

    def fit(self) -> Run:
        """Without the progress, which is told here alone."""
        return replace(self, context=replace(self.context, progress=Context().progress))

    def reused(self, scripts: Iterable[Script]) -> list[Script]:
        """Those of the scripts whose data and figures are in the store."""
        if self.store is None or self.fresh:
            return []
        found = []
        for script in scripts:
            document = data_slot(script, self.context, self.store).take()
            if document and figures_slot(script.path, script.folder, document["data"], self.store).take():
                found.append(script)
        return found


def attempt(script: Script, how: Run) -> Ending:
    """Run a script and say how it ended; a failure is told and not raised."""
    try:
        document = run(script, how.context, how.output, how.store, how.fresh)
    except DpflError as error:
        return Ending(script.name, failure=str(error), code=error.exit_code)
    except Exception as error:
        return Ending(script.name, failure=f"internal error: {told(error)}, {place(error)}", code=INTERNAL)
    claims = document["data"].get("claims", [])
    return Ending(
        script.name,
        tuple(c["verdict"] for c in claims),
        frozenset(c["verdict"] for c in claims if c["verdict"] != c.get("expected", c["verdict"])),
        document["seconds"],
        troubles=() if how.store is None else how.store.told,
    )


def in_process(scripts: Sequence[Script], how: Run) -> Callable[[], list[Ending]]:
    """What another process calls to run these scripts one after the other, on one thread."""
    files = tuple((script.path, script.folder) for script in scripts)
    return partial(_attempt_here, files, how.fit())


def _attempt_here(files: Sequence[tuple[Path, Path | None]], how: Run) -> list[Ending]:
    with one_thread():
        return [attempt(load(*file), how) for file in files]


def together(scripts: Sequence[Script]) -> list[list[Script]]:
    """The scripts by what they share: those of one list run in one process, so that their runs are made once."""
    groups: dict[str, list[Script]] = {}
    for script in scripts:
        groups.setdefault(script.name if script.shares is None else f"shares {script.shares}", []).append(script)
    return list(groups.values())


def seconds_of(group: Sequence[Script], profile: str) -> float:
    """What a list of scripts usually takes on one core; where that was not measured, at least as much as the longest
    one says of itself, which includes what it shares."""
    usual = validation_seconds([script.name for script in group]) if profile == "quick" else None
    return max(script.budget.get(profile, 0.0) for script in group) if usual is None else usual


def order_of(groups: Sequence[Sequence[Script]], profile: str) -> list[int]:
    """The groups' numbers, the longest first, so that the last ones to end are short."""
    return sorted(range(len(groups)), key=lambda i: -seconds_of(groups[i], profile))


def tell(ending: Ending, how: Run) -> None:
    """Say on stderr how a script ended."""
    for trouble in ending.troubles if how.store is not None else ():
        how.store.tell(trouble)  # type: ignore[union-attr]
    if ending.failure:
        say(f"{ending.name} failed: {as_options(ending.failure)}")
        return
    counts = [f"{ending.verdicts.count(v)} {v}" for v in CLAIM_VERDICTS if v in ending.verdicts]
    found = f"claims: {', '.join(counts)}" if counts else "done"
    say(f"{ending.name}: {found} in {ending.seconds:.1f} s: {how.output / 'evidence' / ending.name}.json")


def exit_code(endings: Iterable[Ending]) -> int:
    """0 unless a claim has another verdict than its script records as ``expected`` (1; 3 when all such are
    inconclusive); the exit code of the first script that failed, if one did."""
    made = list(endings)
    failure = next((e.code for e in made if e.code), 0)
    surprises = frozenset().union(*(e.surprises for e in made))
    if failure or not surprises:
        return failure
    return 3 if surprises == {"inconclusive"} else 1


def run_all(scripts: Sequence[Script], how: Run, jobs: int) -> int:
    """Run the scripts, telling on stderr what came out; returns the exit code.

    More than one job: in so many processes with a thread each, the longest script first, and those that share runs one
    after the other in one process. One: here, one after the other, with as many threads as there are. A script that
    fails does not keep the others from running. What is computed is the same. What the store has is taken first.
    """
    there = how.reused(scripts)
    endings = [_told(attempt(script, how), how) for script in there]
    left = [script for script in scripts if script not in there]
    groups = together(left)
    if several(jobs, len(groups)):
        endings += _spread(groups, how, min(jobs, len(groups)))
    else:
        endings += [_alone(script, how) for script in left]
    if there and how.store is not None:
        say(as_options(reused(how.store, len(there), len(scripts), "validations")))
    return exit_code(endings)


def _told(ending: Ending, how: Run) -> Ending:
    tell(ending, how)
    return ending


def _alone(script: Script, how: Run) -> Ending:
    budget = script.budget.get(how.context.profile)
    say(f"{script.name}: {script.title} ({how.context.profile}{f', about {budget:g} s' if budget else ''})")
    with Progress(f"  {script.name}") as progress:
        ending = attempt(script, replace(how, context=replace(how.context, progress=progress)))
    return _told(ending, how)


def _spread(groups: Sequence[Sequence[Script]], how: Run, jobs: int) -> list[Ending]:
    profile = how.context.profile
    cost = [max(1.0, seconds_of(group, profile)) for group in groups]

    def done(_: int, endings: list[Ending]) -> None:
        for ending in endings:
            tell(ending, how)

    with Progress("validate") as progress:

        def waiting(left: list[int]) -> None:
            names = ", ".join(script.name for script in groups[left[0]])
            progress(1.0 - sum(cost[i] for i in left) / sum(cost), f"waiting for {names}")

        work = [in_process(group, how) for group in groups]
        found = spread(work, jobs, order_of(groups, profile), done=done, waiting=waiting)
    return [ending for endings in found for ending in endings]


def validate(
    names: Sequence[str],
    *,
    full: bool,
    output: str,
    seed: str,
    device: str,
    data: str | None = None,
    place: Path | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    fresh: bool = False,
) -> int:
    """Run the named scripts (all when none is named) of a folder (``place``; the package's own when it is None) with
    options as the command line gives them; by default in one process for each core, and one on a GPU."""
    known = available(place)
    for name in names:
        if name not in known:
            raise unknown_name("validation", name, known)
    if not known:
        raise InputError(f"there is no validation script in {str(place or folder())!r}")
    context = Context("full" if full else "quick", parse_seed(seed), choice("device", device, DEVICES), data)
    target = writable(Path(output), folder=True)
    scripts = [load(known[name], place) for name in (names or known)]
    if data is not None:
        _usable(data, names, scripts)
    return run_all(scripts, Run(context, target, store, fresh), jobs or default_jobs(device))


def default_jobs(device: str) -> int:
    """One process for each core, and one alone where a GPU is used."""
    return usable_cores() if select(device).name == "cpu" else 1


def _usable(data: str, names: Sequence[str], scripts: Sequence[Script]) -> None:
    """Raise InputError unless the data file is there and each script, which must be named, takes one."""
    if not names:
        takers = ", ".join(script.name for script in scripts if script.data is not None) or "none here does"
        raise InputError(f"`data` {data!r} is for no particular validation: name one that takes a file ({takers})")
    for script in scripts:
        if script.data is None:
            raise InputError(f"validation {script.name!r} takes no data file: leave out `data` {data!r}")
    if not Path(data).is_file():
        raise InputError(f"data file {data!r} does not exist: give {scripts[0].data}")


def main(file: str, arguments: Sequence[str] | None = None) -> int:
    """Run one script on its own: ``python -m validations.PAPER.NAME [--full] [--output DIR] [--seed N] [--device D]
    [--data FILE]``, or ``python NAME.py`` for one that imports nothing beside it."""
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
        return validate([path.stem], full=full, output=output, seed=seed, device=device, data=data, place=home(path))

    return run_app(app, arguments, program=path.name)
