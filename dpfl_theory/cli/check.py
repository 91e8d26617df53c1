"""`check`: run the checks of statements and report their verdicts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfl_theory import statements
from dpfl_theory.cli import _complete
from dpfl_theory.cli._check_output import (
    Partial,
    as_junit,
    as_text,
    certificate_file,
    evidence_lines,
    write_certificates,
)
from dpfl_theory.cli._options import (
    Device,
    Fresh,
    Jobs,
    Kept,
    Scheduler,
    Schema,
    Seed,
    Target,
    UserFile,
    as_json,
    deliver,
    give_schema,
    opened,
    parse_count,
    parse_limit,
    target_of,
)
from dpfl_theory.core import Check, Statement, methods
from dpfl_theory.errors import InputError
from dpfl_theory.kernels import DEVICES, select
from dpfl_theory.runtime.console import Progress, choice, parse_alpha, parse_budget, parse_seed, print_message
from dpfl_theory.runtime.executor import on
from dpfl_theory.runtime.interrupts import on_interrupt
from dpfl_theory.runtime.recorded_warnings import Warned, counted, recorded
from dpfl_theory.statements.names import several

if TYPE_CHECKING:
    from dpfl_theory.checks.runner import Report

app = typer.Typer()


@app.command()
def check(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID]...",
            help="Statements, patterns like 'das2022.theorem4*', papers; all when none is named.",
            autocompletion=_complete.ids,
        ),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(metavar="P", help="Only the statements of this paper.", autocompletion=_complete.papers),
    ] = None,
    file: UserFile = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M",
            help=f"Only this method ({', '.join(methods.known())}); may be repeated.",
            autocompletion=_complete.methods,
        ),
    ] = None,
    changed_since: Annotated[
        str | None,
        typer.Option(metavar="REV", help="Check only statements affected by changes since this git revision."),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Check only the smoke set: a few fast checks of everything.")
    ] = False,
    standard: Annotated[
        bool, typer.Option("--standard", help="Check only the standard profile: the checks that decide.")
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Also report the smallest error in each formula that its checks would detect."
        ),
    ] = False,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    budget: Annotated[
        str | None, typer.Option(metavar="60s", help="Time limit; unfinished checks are inconclusive.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option(metavar="10m", help="Time limit of each check [default: 10m for --file].")
    ] = None,
    alpha: Annotated[str, typer.Option(metavar="A", help="False-alarm probability of the whole run.")] = "1e-6",
    seed: Seed = "0",
    device: Device = "auto",
    store: Kept = None,
    fresh: Fresh = False,
    format_: Annotated[str, typer.Option("--format", metavar="text|json|junit", help="What is written.")] = "text",
    output: Target = None,
    certificate: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the proofs of worst cases, for verify_certificate.py."),
    ] = None,
    schema: Schema = False,
) -> int:
    """Check statements and compare their verdicts with what the catalogue records. For example:

    \b
      dpfl-theory check das2022.theorem4b
      dpfl-theory check hou2023 'noble2022.lemma*' --method exact
      dpfl-theory check --file my_statements.py
      dpfl-theory check --changed-since HEAD~1 --format junit --output checks.xml
      dpfl-theory check das2022.lemma8 --certificate lemma8.json
    """
    if schema:
        from dpfl_theory.checks import document as of_checks

        return give_schema(of_checks.schema)
    from dpfl_theory.checks.runner import run_plan, suitable_jobs
    from dpfl_theory.core.evidence import exit_code, summary_line
    from dpfl_theory.runtime.cache import report_reused

    render = FORMATS[choice("format", format_, tuple(FORMATS))]
    seconds, share, number_, processes = parse_budget(budget), parse_alpha(alpha), parse_seed(seed), parse_count(jobs)
    most = parse_limit(limit, file)
    target = target_of(output, file)
    if choice("device", device, DEVICES) == "cuda":
        select(device)  # a missing GPU is reported at once, not after the checks that need none
    if smoke and standard:
        raise InputError("--smoke is part of --standard: leave one out")
    if smoke and (file is not None or changed_since is not None):
        other = "--file" if file is not None else "--changed-since"
        raise InputError(f"--smoke is a fixed set of the catalogue's checks: leave {other} out, or run it on its own")
    with recorded() as warned:
        chosen = _chosen(tuple(ids or ()), paper, file, seconds, most)
    if changed_since is not None:
        chosen = _changed(changed_since, chosen, file)
    pairs = _planned(chosen, tuple(method or ()), smoke, standard)
    if not pairs and changed_since is not None:
        print_message(f"nothing changed since {changed_since} on which these checks depend")
    elif not pairs and smoke:
        raise InputError("none of these checks belongs to the smoke set: leave --smoke out")
    elif not pairs:
        raise InputError(f"no check of these statements uses the method {', '.join(method or ())}: leave --method out")
    proofs = certificate_file(certificate, output, pairs, reads=file)
    with on(scheduler), opened(store) as kept, Progress("check") as progress:
        shown = evidence_lines if format_ == "text" and target is None else None
        partial = Partial(len(pairs), shown, kept is not None, progress)
        with on_interrupt(partial.report):
            report = run_plan(
                pairs,
                alpha=share,
                seed=number_,
                device=device,
                budget=seconds,
                progress=lambda done, total, label, part: progress((done + part) / max(1, total), label),
                jobs=suitable_jobs(pairs) if processes is None else processes,
                file=None if file is None else Path(file),
                store=kept,
                fresh=fresh,
                limit=most,
                ended=partial.add,
            )
    report_reused(kept, report.reused, len(pairs), "checks")
    report = _with_import(report, counted(warned))
    started = time.monotonic()
    if sensitivity:
        report = _with_power(report, chosen, processes, most)
    document = report.to_json()
    if file is not None:
        from dpfl_theory.checks.hypotheses import edges, untested_text
        from dpfl_theory.report.user_statements import described

        own = [s for s in chosen if statements.file_of(s.id) is None]
        if sensitivity:
            print_message("checking again without each term of the right sides")
        document["own"] = described(own, report.evidence, planted=sensitivity, file=file, limit=most)
        for s in own:
            near, about = edges(s), document["own"][s.id]
            about["edges"] = [edge.to_json() for edge in near]
            holds = document["summary"]["statements"][s.id]["verdict"] == "holds"
            about["untried"] = untested_text(s, near, file, len(own)) if holds else None
    if sensitivity:
        document["summary"]["seconds"] = round(report.seconds + time.monotonic() - started, 3)
    if proofs is not None:
        write_certificates(proofs, report.evidence)
    text = render(report, document)
    deliver(text, target, summary_line(document["summary"]))
    return exit_code(document["summary"])


def _chosen(ids: Sequence[str], paper: str | None, file: str | None, *limits: float | None) -> tuple[Statement, ...]:
    """The statements of a command: those of the user's file, or the catalogue's; ids may name either. limits: time
    limits of the file's import [s]."""
    if file is None:
        chosen = statements.select(tuple(ids), paper)
    else:
        own = {s.id: s for s in statements.load_file(file, *limits)}
        known = {s.id: s for s in statements.all_statements()} | own
        named = several(ids, known, statements.papers())
        chosen = tuple(known[id_] for id_ in named) if ids else tuple(own.values())
        chosen = tuple(s for s in chosen if paper is None or s.paper == paper)
    if not chosen:
        raise InputError(f"no statement remains to check: none of the named ones belongs to the paper {paper!r}")
    return tuple(dict.fromkeys(chosen))


def _changed(revision: str, chosen: Sequence[Statement], file: str | None) -> tuple[Statement, ...]:
    from dpfl_theory.checks.change_detection import change_since

    return change_since(revision).concerns(chosen, None if file is None else Path(file))


def _with_import(report: Report, warned: Sequence[Warned]) -> Report:
    """The report with the warnings of the file's import, in the evidence of the first check of its statements."""
    evidence = list(report.evidence)
    own = [i for i, e in enumerate(evidence) if statements.file_of(e.statement) is None]
    for i in own[:1]:
        evidence[i] = replace(evidence[i], warnings=(*warned, *evidence[i].warnings))
    return replace(report, evidence=tuple(evidence))


def _with_power(report: Report, chosen: Sequence[Statement], processes: int | None, limit: float | None) -> Report:
    """The report with the errors that its checks would detect, measured by checking stronger statements."""
    from dpfl_theory.checks.power import measure
    from dpfl_theory.runtime.threads import usable_cores

    print_message("checking stronger statements: the right sides smaller by up to 99.9 %")
    jobs = usable_cores() if processes is None else processes
    with Progress("sensitivity") as progress:
        return replace(report, power=measure([e.to_json() for e in report.evidence], chosen, jobs, progress, limit))


def _planned(
    chosen: Sequence[Statement], methods: Sequence[str], smoke: bool, standard: bool
) -> list[tuple[Statement, Check]]:
    """The checks of the statements by the methods, restricted to the smoke set or the profile where requested."""
    from dpfl_theory.checks.profiles import smoke_set
    from dpfl_theory.checks.profiles import standard as of_profile
    from dpfl_theory.checks.runner import plan

    pairs = plan(chosen, methods)
    return smoke_set(pairs) if smoke else of_profile(pairs) if standard else pairs


FORMATS = {"text": as_text, "json": lambda report, document: as_json(document), "junit": as_junit}
