"""`recommend`: the best hyper-parameters found by runs, or those that the papers prescribe, with bound and reasons."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfl_theory.cli import _complete
from dpfl_theory.cli._options import (
    Format,
    Fresh,
    Jobs,
    Kept,
    Scheduler,
    Target,
    as_json,
    deliver,
    opened,
    parse_count,
    target_of,
)
from dpfl_theory.cli._output import busy
from dpfl_theory.cli._recommend import DATA, as_text, comparison_text, kind_of, parsed, with_inputs, write_figure
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import BEST, get, rules, settings
from dpfl_theory.recommend import recommend as recommended
from dpfl_theory.recommend.inputs import Budget, ConstantOptions, inputs_of
from dpfl_theory.runtime.atomic_files import writable
from dpfl_theory.runtime.console import Progress, as_options, choice, parse_seed
from dpfl_theory.runtime.executor import on

app = typer.Typer()
KNOWN = settings()
COMPARED = {**inputs_of(Budget), **inputs_of(ConstantOptions)}
_BEST = f"{BEST} (default): the best hyper-parameters in runs with certified noise"


@app.command(context_settings={"max_content_width": 110})
@with_inputs(KNOWN)
def recommend(
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="A",
            help=f"The algorithm: {', '.join(KNOWN)}. Without it all private ones are compared.",
            autocompletion=_complete.complete_from(KNOWN),
        ),
    ] = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Seed of the runs; 0.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(metavar="client|record|all", help="The unit that compared algorithms protect; all, separately."),
    ] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    rule: Annotated[
        str,
        typer.Option(
            metavar="R", help=f"{'; '.join(f'{rule.name}: {rule.text}' for rule in rules().values())}; {_BEST}."
        ),
    ] = BEST,
    figure: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the comparison, or the result of --confirm, to this PNG or SVG file."),
    ] = None,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Also run the neighbourhood: is the bound smallest where the runs are best?"),
    ] = False,
    store: Kept = None,
    fresh: Fresh = False,
    format_: Format = "text",
    output: Target = None,
    **given: str | None,
) -> None:
    """Recommend hyper-parameters for a privacy budget, from your data or a problem's constants.

    By default they are the best ones in runs with certified noise. Each client may send as many vectors as --rounds
    says (500). Without --algorithm, all private algorithms are compared, for client-level and for record-level privacy.

    With --rule printed they are those of the algorithm's paper, with the bound that holds for them and the reason. With
    --rule bound-optimal they have the smallest bound. For example:

    \b
      dpfl-theory recommend --data my.csv --epsilon 3 --delta 1e-5
      dpfl-theory recommend --clients 50 --dim 10 --smoothness 1 --distance 3 --epsilon 3 --delta 1e-5
      dpfl-theory recommend --algorithm dp-fedavg --data breast-cancer --clients 20 --epsilon 3 --delta 1e-5
      dpfl-theory recommend --algorithm dp-scaffnew --rule printed --clients 10 --dim 20 \\
        --smoothness 1 --strong-convexity 0.05 --distance 300 \\
        --gradient-norm-at-optimum 0 --clip 1 --epsilon 8 --delta 1e-5
      dpfl-theory recommend --algorithm dp-scaffnew --rule bound-optimal --data breast-cancer --ridge 0.1 \\
        --clip 0.01 --epsilon 8 --delta 1e-5 --confirm
    """
    from dpfl_theory.recommend.figure import draw as comparison
    from dpfl_theory.recommend.figure import neighbourhoods
    from dpfl_theory.runtime.cache import report_reused
    from dpfl_theory.runtime.cached_calls import Reuse

    form = choice("format", format_, ("text", "json"))
    chosen = {name: given.pop(name) for name in DATA}
    data, source = chosen["data"], parsed(DATA, chosen)
    target = target_of(output, data)
    picture = None if figure is None else writable(Path(figure), reads=(data,))
    drawn = kind_of(picture)
    reuse = Reuse(fresh=fresh)
    runs: dict[str, Any] = {
        "reuse": reuse,
        "seed": 0 if seed is None else parse_seed(seed),
        "confirm": confirm,
    }
    if rule == BEST:
        from dpfl_theory.runtime.threads import usable_cores

        how: dict[str, Any] = {**runs, "unit": unit, "jobs": parse_count(jobs) or usable_cores()}
        with on(scheduler), opened(store) as reuse.store, Progress("recommend") as progress:
            document = recommended(algorithm, **source, **how, **parsed(COMPARED, given), progress=progress)
        report_reused(reuse.store, reuse.taken, reuse.requested, "results of runs")
        if picture is not None:
            write_figure(comparison(document), picture, drawn)
            if confirm:
                confirmed = picture.with_stem(f"{picture.stem}-confirmed")
                write_figure(neighbourhoods(document["confirmed"]), confirmed, drawn)
        _give(document, form, comparison_text, target, f"{len(document['algorithms'])} algorithms compared")
        return
    if algorithm is None:
        raise InputError(f"--rule is {rule!r}, which is one algorithm's: name an --algorithm, or take --rule {BEST}")
    if picture is not None and not confirm:
        raise InputError("--figure draws a comparison: omit --algorithm, take --rule best, or also give --confirm")
    inputs = parsed(inputs_of(get(algorithm)), given)
    slow = {
        "measuring the data": data is not None,
        "composing privacy losses": inputs.get("epsilon") is not None,
        "minimising the bound": rule != "printed",
        "running the neighbourhood": confirm,
    }
    doing = ", then ".join(what for what, needed in slow.items() if needed)
    with (
        on(scheduler),
        opened(store if confirm else "off") as reuse.store,
        busy("recommend", doing) if doing else contextlib.nullcontext(),
    ):
        document = recommended(algorithm, rule, unit=unit, **runs, **source, **inputs)
    report_reused(reuse.store, reuse.taken, reuse.requested, "results of runs")
    if picture is not None:
        write_figure(neighbourhoods(document["confirmed"]), picture, drawn)
    _give(document, form, as_text, target, f"{algorithm}, rule {rule}")


def _give(document: dict[str, Any], form: str, as_lines: Any, target: Path | None, said: str) -> None:
    document["schema"] = "dpfl-theory/recommend/1"
    text = as_lines(document) if form == "text" else as_json(document)
    text = as_options(text)
    deliver(text, target, said)
