"""`falsify`: search for an instance on which a statement fails."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

import typer

from dpfl_theory.cli import _complete
from dpfl_theory.cli._options import (
    Device,
    Format,
    Schema,
    Seed,
    Target,
    UserFile,
    as_json,
    deliver,
    give_schema,
    one_statement,
    parse_count,
    parse_limit,
    target_of,
)
from dpfl_theory.kernels import DEVICES, select
from dpfl_theory.runtime.console import Progress, choice, parse_alpha, parse_budget, parse_seed
from dpfl_theory.runtime.recorded_warnings import counted, recorded

app = typer.Typer()


@app.command()
def falsify(
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="The statement; not needed for a file with one statement.",
            autocompletion=_complete.ids,
        ),
    ] = None,
    file: UserFile = None,
    budget: Annotated[str, typer.Option(metavar="60s", help="Time for the search.")] = "60s",
    instances: Annotated[
        str | None, typer.Option(metavar="N", help="Try this many instances instead; the result is reproducible.")
    ] = None,
    alpha: Annotated[str, typer.Option(metavar="A", help="False-alarm probability of the verdict.")] = "1e-6",
    limit: Annotated[
        str | None, typer.Option(metavar="60s", help="Time limit of a run [default: 10m for --file].")
    ] = None,
    seed: Seed = "0",
    device: Device = "auto",
    format_: Format = "text",
    output: Target = None,
    schema: Schema = False,
) -> int:
    """Search inside a statement's hypotheses for the largest excess of the left side, and check it with fresh seeds.
    For example:

    \b
      dpfl-theory falsify hou2023.theorem1 --budget 60s
      dpfl-theory falsify --file my_statements.py --instances 500
    """
    from dpfl_theory.checks.document import SEARCH_SCHEMA, search_schema
    from dpfl_theory.checks.falsify import falsify as search

    if schema:
        return give_schema(search_schema)
    choice("format", format_, ("text", "json"))
    seconds, share, number_ = parse_budget(budget), parse_alpha(alpha), parse_seed(seed)
    count = parse_count(instances, "number", 7, "--instances 500")
    target = target_of(output, file)
    if choice("device", device, DEVICES) == "cuda":
        select(device)
    most = parse_limit(limit, file)
    with recorded() as warned:
        statement = one_statement(id_, file, seconds, most)
    with Progress("falsify") as progress:
        found = search(
            statement,
            budget=60.0 if seconds is None else seconds,
            instances=count,
            seed=number_,
            alpha=share,
            device=device,
            limit=most,
            progress=lambda tried, share, largest: progress(
                min(1.0, share), f"{tried} instances, largest excess {largest:.3g}"
            ),
        )
    found = replace(found, evidence=replace(found.evidence, warnings=(*counted(warned), *found.evidence.warnings)))
    document = {"schema": SEARCH_SCHEMA, "recorded_verdict": statement.expected, **found.to_json()}
    text = as_json(document) if format_ == "json" else as_text(document)
    deliver(text, target, f"{_verdict(document)}")
    if found.evidence.verdict == "violated":
        return 0 if statement.expected == "violated" else 1
    return 3 if found.suspicious else 0


def _verdict(document: dict[str, Any]) -> str:
    e = document["evidence"]
    if e["verdict"] == "violated":
        surprise = "" if document["recorded_verdict"] == "violated" else ", which the catalogue does not record"
        return f"{document['statement']} is violated{surprise}"
    if document["suspicious"]:
        return f"undecided: the best instance looks like a counterexample to {document['statement']}, without proof"
    if not document["variations"]:
        return f"only the recorded runs of {document['statement']} were tried: give a longer --budget"
    return f"no counterexample to {document['statement']} was found"


def as_text(document: dict[str, Any]) -> str:
    """The verdict, the tried instances, and the best instance with its evidence."""
    e = document["evidence"]
    ratio = "-" if e["ratio"] is None else f"{e['ratio']:.6g}"
    shown = {k: v for k, v in e["instance"].items() if k not in ("values", "algorithm")}
    tried = f"{document['tried']} in {document['seconds']:.1f} s, {document['inside']} inside the hypotheses"
    others = " and ".join(document["other_methods"])
    uncounted = f" (its checks by {others} are not among them)" if others else ""
    largest = f"{document['recorded']:.4g} on the recorded runs{uncounted}, {document['largest']:.4g} in the search"
    noisy = f"the largest of {document['inside']} noisy estimates is biased upwards: the next line counts"
    lines = [
        _verdict(document),
        "",
        f"instances tried   {tried}",
        f"largest excess    {largest} ({e['check']}); it is (left - right)/(|left| + |right|)",
        f"                  {noisy}",
        f"with fresh seeds  {e['verdict']}, ratio {ratio}: {e['reason']}",
        f"instance          {json.dumps(shown, ensure_ascii=False)}",
    ]
    if not document["certifiable"]:
        lines.append("limits            none is valid at finite sample size here, so that no run can be found violated")
    for why, count in sorted(document["outside"].items(), key=lambda pair: -pair[1]):
        first = document["reasons"].get(why)
        lines.append(f"kept out          {count}: {why}{f', the first because: {first}' if first else ''}")
    return "\n".join(lines)
