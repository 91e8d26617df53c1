"""A comparison of private algorithms as text and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpfl_theory.cli._confirm import lines as confirmed
from dpfl_theory.cli._recommend import certificate
from dpfl_theory.errors import InputError
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.console import print_message

__all__ = ["as_text", "draw", "kind_of"]


def kind_of(picture: Path | None) -> str:
    """``png`` or ``svg``, by the suffix of the file; InputError for another one."""
    kind = "png" if picture is None else picture.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InputError(f"--figure is {str(picture)!r}: give a name that ends in .png or .svg")
    return kind


def draw(document: Mapping[str, Any], picture: Path, kind: str) -> None:
    """Write the comparison's figure to a file."""
    from dpfl_theory.recommend.figure import draw
    from dpfl_theory.validation import style

    write(picture, style.render(draw(document))[kind])
    print_message(f"figure: {picture}")


def as_text(d: Mapping[str, Any]) -> str:
    """The data, the table, and the recommendation."""
    return "\n".join([*_lines(d), *confirmed(d)])


def _lines(d: Mapping[str, Any]) -> Iterator[str]:
    from dpfl_theory.recommend.minimum_budget import describe_changes as would_help

    data, budget = d["data"], d["budget"]
    yield from _data_lines(data)
    yield f"at the start, 0: suboptimality {d['start']['suboptimality']:.4g}{_accuracy(d['start']['accuracy'])}"
    yield f"at most {budget['rounds']} vectors from a client"
    yield ""
    for unit, advice in d["advice_by_unit"].items():
        rows = [row for row in d["algorithms"] if row["protects"] == unit]
        yield from _group(rows, budget)
        yield advice
        if unit in d["would_help_by_unit"]:
            width = "dimensions" if data["source"] is None else "features (principal components)"
            yield would_help(d["would_help_by_unit"][unit], width)
        for row in rows:
            yield f"{row['name']}: {row['why']}"
        for row in rows:
            yield f"{row['name']}: noise {row['setting']['noise']}."
        yield from _rules(rows)
        yield ""
    if len(d["advice_by_unit"]) > 1:
        yield (
            "The two epsilons are not comparable: the first hides all records of a client, the second one record; and "
            "replacement (replace) may change a sum by twice as much as omission (zero-out)."
        )
    for left in d["left_out"]:
        yield f"{left['name']} is left out: {left['why']}."


def _data_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The data, or the representative problem for the given constants, and its known constants."""
    if data["source"] is None:
        yield f"{data['problem']}: {data['clients']} clients in {data['dim']} dimensions"
        yield f"These constants describe many problems: {data['stands_for']}."
    else:
        low, high = data["records_of_a_client"]
        yield f"{data['problem']}: {data['records']} records, {data['features']} features, bias included"
        if same := data["constant_features"]:
            few = ", ".join(same[:6]) + (f" and {len(same) - 6} more" if len(same) > 6 else "")
            yield f"constant in all records, so that nothing depends on them: {few}"
        whose = "named by the data" if data["partition"] == "own" else f"split {data['partition']}"
        yield f"{data['clients']} clients ({whose}), {low} to {high} records each, ridge {data['ridge']:g}"
    for c in data["constants"].values():
        if c["value"] is None:
            yield f"  {'-':>9}  {c['meaning']}: {c['text']}"
        else:
            yield f"  {c['value']:9.4g}  {c['meaning']} ({certificate(c)})"
    if "not_private" in data:
        yield f"Not private: {data['not_private']}."


def _group(rows: Sequence[Mapping[str, Any]], budget: Mapping[str, Any]) -> Iterator[str]:
    """The table of algorithms that protect the same unit."""
    whose = "a client's data" if rows[0]["protects"] == "client" else "one record of a client"
    yield (
        f"epsilon = {budget['epsilon']:g}, delta = {budget['delta']:g} for {whose} ({rows[0]['relation']}), "
        f"seen by a {rows[0]['view']}"
    )
    drawn: dict[str, list[str]] = {}
    for row in rows:
        drawn.setdefault(row["sampling"], []).append(row["name"])
    if set(drawn) != {"full"}:
        ways = "; ".join(f"{way}: {', '.join(sorted(names))}" for way, names in drawn.items())
        yield f"{budget['cohort']:g} clients in a round ({ways})"
    heading = f"{'algorithm':22}{'protects':9}{'suboptimality':>20}{'accuracy':>12}{'epsilon':>10}{'vectors':>9}"
    yield f"{heading}  hyper-parameters"
    for row in rows:
        gap, accuracy = row["suboptimality"], row["accuracy"]
        shown = "-" if accuracy is None else f"{accuracy['mean']:.3f}"
        values = ", ".join(f"{k} {v:.4g}" for k, v in row["hyperparameters"].items())
        yield (
            f"{row['name']:22}{row['protects']:9}{gap['mean']:>11.4g} +- {gap['error']:<5.1g}{shown:>12}"
            f"{row['epsilon']['high']:>10.4g}{row['vectors']:>9}  {values}"
        )


def _rules(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The papers' rules: their bounds, and the values that they reach."""
    applied = [(row["name"], rule) for row in rows for rule in row["rules"]]
    if applied:
        yield "The papers' rules, with certified noise: their bound at this budget, and the value that they reach."
        yield f"{'algorithm':22}{'rule':15}{'bound':>11}{'':10}{'vectors':>9}{'suboptimality':>20}"
    notes: dict[str, None] = {}
    for name, rule in applied:
        bound = "-" if rule["bound"] is None else f"{rule['bound']:.4g}"
        vacuous = " vacuous" if rule["bound"] is not None and rule["vacuous"] else ""
        gap = rule["suboptimality"]
        reaches = f"{'-':>20}" if gap is None else f"{gap['mean']:>11.4g} +- {gap['error']:<5.1g}"
        yield f"{name:22}{rule['rule']:15}{bound:>11}{vacuous:10}{rule.get('vectors', '-'):>9}{reaches}".rstrip()
        if rule["bound"] is not None:
            notes[f"{name}: the bound is of the {rule['bounds']}."] = None
        if gap is None:
            notes[f"{name}: not run; {rule['why']}."] = None
        elif rule["departs"]:
            notes[f"{name}: {rule['departs']}."] = None
    yield from notes


def _accuracy(accuracy: Mapping[str, float] | None) -> str:
    return "" if accuracy is None else f", accuracy {accuracy['mean']:.3f}"
