"""`recommend`: hyper-parameters that the papers prescribe, with the bound that holds for them and why."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dpfl_theory.cli._options import Format
from dpfl_theory.cli._recommend import as_text, number, parsed, with_inputs
from dpfl_theory.console import as_options, choice, emit, say, writable, write
from dpfl_theory.recommend import get, settings
from dpfl_theory.recommend import recommend as recommended

app = typer.Typer()
KNOWN = settings()


@app.command(context_settings={"max_content_width": 110})
@with_inputs(KNOWN)
def recommend(
    algorithm: Annotated[str, typer.Option(metavar="A", help=f"The algorithm: {', '.join(KNOWN)}.")],
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Compute the problem's constants from a bundled data set or a file."),
    ] = None,
    ridge: Annotated[str | None, typer.Option(metavar="X", help="Ridge of the data's problem [F/X^2]; 0.")] = None,
    partition: Annotated[
        str | None, typer.Option(metavar="iid|shards|similarity", help="How records are split among clients; iid.")
    ] = None,
    features: Annotated[str | None, typer.Option(metavar="N", help="Principal components of the data; all.")] = None,
    row_norm: Annotated[str | None, typer.Option(metavar="X", help="Scale the data's longest row to this.")] = None,
    rule: Annotated[
        str, typer.Option(metavar="R", help="printed: the papers' own formulas (dp-scaffold: repaired).")
    ] = "printed",
    format_: Format = "text",
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write to this file instead of stdout.")] = None,
    **given: str | None,
) -> None:
    """Recommend hyper-parameters for a problem's constants and a budget.

    They come with the bound that holds for them and the reason why. For example:

    \b
      dpfl-theory recommend --algorithm dp-scaffnew --clients 10 --dim 20 \\
        --smoothness 1 --strong-convexity 0.05 --distance 300 \\
        --gradient-norm-at-optimum 0 --clip 1 --epsilon 8 --delta 1e-5 --constant 4
      dpfl-theory recommend --algorithm dp-scaffnew --data breast-cancer --ridge 0.1 \\
        --clip 0.01 --epsilon 8 --delta 1e-5 --constant 4
    """
    from dpfl_theory.checks.evidence import SCHEMA
    from dpfl_theory.cli._answer import busy

    form = choice("format", format_, ("text", "json"))
    target = None if output is None else writable(Path(output))
    inputs = parsed(get(algorithm), given)
    shape: dict[str, Any] = {
        name: number(option, text, kind)
        for name, option, text, kind in (
            ("ridge", "--ridge", ridge, "nonnegative"),
            ("features", "--features", features, "count"),
            ("row_norm", "--row-norm", row_norm, "positive"),
        )
        if text is not None
    }
    slow = {
        "measuring the data": data is not None,
        "composing privacy losses": inputs.get("calibration") == "accountant",
    }
    doing = ", then ".join(what for what, needed in slow.items() if needed)
    with busy("recommend", doing) if doing else contextlib.nullcontext():
        document = recommended(algorithm, rule, data=data, partition=partition, **shape, **inputs)
    document["schema"] = SCHEMA
    text = as_text(document) if form == "text" else json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    text = as_options(text)
    if target is None:
        emit(text)
    else:
        write(target, text + "\n")
        say(f"{algorithm}, rule {rule}: {target}")
