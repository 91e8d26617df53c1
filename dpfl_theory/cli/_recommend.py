"""Options of `recommend`, generated from the fields of the algorithms' inputs, and its output as text and as figures: a
recommendation, a comparison of private algorithms, and the minimum of bounds against the optimum of runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfl_theory.cli._layout import laid_out
from dpfl_theory.cli._options import add_options, number, text_option
from dpfl_theory.cli._output import rounded
from dpfl_theory.errors import InputError
from dpfl_theory.recommend import Setting
from dpfl_theory.recommend.inputs import Budget, DataOptions, Input, inputs_of, options_of
from dpfl_theory.runtime.atomic_files import write
from dpfl_theory.runtime.console import option, print_message

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = {name: inputs_of(DataOptions)[field] for name, field in options_of(DataOptions).items()}
"""The options of the data, by name."""
METAVARS = {"count": "N", "word": "NAME"}
APART = (
    "algorithm", "rule", "vacuous", "would_help", "inputs", "certificate", "warnings", "terms", "noise", "unrounded",
    "repaired", "data", "confirmed", "schema",
)  # fmt: skip
"""The keys of a recommendation that have lines of their own."""


def with_inputs(known: Mapping[str, type[Setting]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option for each input of the data, of these algorithms and of the budget, as text, to a command after its
    first parameter."""
    takers: dict[str, list[str]] = {}
    described = dict(DATA)
    for kind in known.values():
        for name, one in inputs_of(kind).items():
            takers.setdefault(name, []).append(kind.name)
            described.setdefault(name, one)
    described = {**described, **{n: one for n, one in inputs_of(Budget).items() if n not in described}}

    def parameter(name: str) -> inspect.Parameter:
        one = described[name]
        help_ = one.text
        if len(takers.get(name, known)) < len(known):
            help_ += f" [{', '.join(takers[name])}]"
        metavar = "|".join(one.choices) or METAVARS.get(one.kind, "X")
        return text_option(name, metavar, help_)

    return add_options([parameter(name) for name in described])


def parsed(inputs: Mapping[str, Input], options: Mapping[str, str | None]) -> dict[str, Any]:
    """The given options, those of number inputs as numbers."""
    found: dict[str, Any] = {name: text for name, text in options.items() if text is not None}
    for name, one in inputs.items():
        if name in found and one.kind != "word":
            value = number(option(name), found[name], whole=one.kind == "count")
            found[name] = value if one.kind == "count" else float(value)
    return found


def certificate(constant: Mapping[str, Any]) -> str:
    """How a constant of the data was obtained, and the limit of its error.

    >>> certificate({"kind": "eigenvalue", "error": 2e-15}), certificate({"kind": "computed", "error": None})
    ('eigenvalue, error at most 2e-15', 'computed, no bound on its error')
    """
    error = constant["error"]
    return f"{constant['kind']}, {'no bound on its error' if error is None else f'error at most {error:.1g}'}"


def as_text(document: Mapping[str, Any]) -> str:
    """Lines of a name and a recommended value, then the reasons."""
    return "\n".join([laid_out(list(_rows(document))), *_confirmed(document)])


def _noises(noise: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The accountant's noise and the paper's, each with its epsilon."""
    for name, said, limits in (
        ("certified noise", noise.get("accountant"), (noise.get("accountant") or {}).get("epsilon")),
        ("paper's noise", noise.get("paper"), noise.get("accounted")),
    ):
        if said:
            sigmas = ", ".join(f"{k.replace('_', ' ')} = {_shown(v)}" for k, v in said.items() if k.startswith("sigma"))
            constant = f" (constant {_shown(said['constant'])})" if "constant" in said else ""
            if limits is None:
                message = noise["why"]
            elif limits["high"] is None:
                message = f"for which no finite epsilon is certified (requested: {noise['asked']:g})"
            else:
                message = f"which gives epsilon = {limits['high']:.4g} (requested: {noise['asked']:g})"
            yield name, f"{sigmas}{constant}, {message}"
    if m := noise.get("mechanism"):
        words = [f"{k.replace('_', ' ')} {m[k]}" for k in ("relation", "view", "sampling", "noise") if k in m]
        yield "accounted as", ", ".join([m["algorithm"], f"one {m['protects']}", *words])
    for name, said in (noise.get("setting") or {}).items():
        yield "accounted as", f"{name}: {said}"
    if noise.get("bound"):
        yield "bound's noise", noise["bound"]


def _rows(d: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if first := d.get("noise", {}).get("warning"):
        yield "warning", first
    if d.get("vacuous"):
        yield "vacuous", d["vacuous"]
    for name, value in d.items():
        if name not in APART:
            yield name.replace("_", " "), _shown(value)
    for name, value in d.get("terms", {}).items():
        yield "term", f"{name}: {_shown(value)}"
    for name, value in d.get("noise", {}).items():
        if isinstance(value, float) and name != "asked":
            yield name.replace("_", " "), _shown(value)
    yield from _noises(d.get("noise", {}))
    if "meaning" in d.get("noise", {}):
        yield "noise", d["noise"]["meaning"]
    if d.get("repaired"):
        yield "repaired", f"{d['repaired']['statement']}: bound {_shown(d['repaired']['bound'])}"
    if "data" in d:
        made = f"{d['data']['problem']}, {d['data']['records']} records, {d['data']['partition']} among "
        yield "data", f"{made}{d['data']['clients']} clients, ridge {d['data']['ridge']:g}, start 0"
        yield "not private", "the constants and the hyper-parameters use the data, and epsilon does not count that"
    for name, c in d.get("data", {}).get("constants", {}).items():
        yield "input", f"{option(name)} {_shown(c['value'])} ({certificate(c)}): {c['text']}"
    for name, value in d.get("unrounded", {}).items():
        yield "unrounded", f"{name.replace('_', ' ')} {_shown(value)}"
    said = d["certificate"]
    for name in ("lower_bound", "gap"):
        if name in said:
            yield name.replace("_", " "), _shown(said[name])
    yield "why", said["reason"]
    for s in said["statements"]:
        verdict = (
            "" if s["verdict"] == "holds" else f" ({s['verdict']} as {s['provenance']}: dpfl-theory show {s['id']})"
        )
        yield s["role"], f"{s['id']}, {s['where']}{verdict}"
    for text in d["warnings"]:
        if text != first:
            yield "warning", text


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)


def _confirmed(d: Mapping[str, Any]) -> Iterator[str]:
    """A table with sentences for each confirmed algorithm, if any."""
    for found in d.get("confirmed", ()):
        yield ""
        yield from _of_one(found)


def _of_one(found: Mapping[str, Any]) -> Iterator[str]:
    of = "not available" if found["statement"] is None else f"{found['statement']}, {found['bounds']}"
    yield (
        f"{found['algorithm']} around this choice, {found['replicates']} replicates with the same noise for each value"
    )
    yield f"bound: {of}"
    if found["why"] is not None:
        yield f"It does not apply to this choice: {found['why']}."
    yield "runs: suboptimality after the last round [F]"
    yield f"{'':12}{'recommended':>12}{'bound least':>12}{'runs best':>12}{'interval':>22}{'ratio':>18}"
    for line in found["lines"]:
        numbers = [line["recommended"], line["bound_least"], line["measured_least"]]
        columns = "".join(f"{'-' if x is None else format(x, '.3g'):>12}" for x in numbers)
        yield f"{line['hyperparameter']:12}{columns}{_range(line['interval']):>22}{_range(line['ratio']):>18}"
    for line in found["lines"]:
        yield line["sentence"]
    yield _cost(found["cost"])
    yield (
        f"Values in an interval are not distinguishable at {found['standard_errors']:.3g} standard errors of paired "
        f"differences: an optimum is outside its interval with probability at most {found['false_alarms']:.2g}, for "
        "all comparisons together."
    )


def _range(limits: list[float] | None) -> str:
    """Two limits, or one number.

    >>> _range([0.125, 4.0]), _range([1.0, 1.0]), _range(None)
    ('0.125 to 4', '1', '-')
    """
    if limits is None:
        return "-"
    low, high = (f"{x:.3g}" for x in limits)
    return low if low == high else f"{low} to {high}"


def _cost(cost: Mapping[str, Any]) -> str:
    ours, best = cost["recommended"], cost["best"]
    if ours["mean"] is None:
        return "Runs of this choice diverge."
    if best["mean"] is None or cost["difference"] is None:
        return f"This choice ends at {ours['mean']:.3g} +- {ours['error']:.1g}."
    return (
        f"This choice ends at {ours['mean']:.3g} +- {ours['error']:.1g}, the best that was tried "
        f"({cost['hyperparameter']} = {cost['value']:.3g}) at {best['mean']:.3g} +- {best['error']:.1g}, with fresh "
        f"seeds: a ratio of {cost['ratio']:.3g}, {cost['difference']:.2g} +- {cost['error']:.1g} more."
    )


def write_figure(figure: Figure, picture: Path, kind: str) -> None:
    """Write a figure to a file, and name the file."""
    from dpfl_theory.validation import style

    write(picture, style.render(figure)[kind])
    print_message(f"figure: {picture}")


def kind_of(picture: Path | None) -> str:
    """``png`` or ``svg``, by the suffix of the file; InputError for another one."""
    kind = "png" if picture is None else picture.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InputError(f"--figure is {str(picture)!r}: give a name that ends in .png or .svg")
    return kind


def comparison_text(d: Mapping[str, Any]) -> str:
    """The data, the table, and the recommendation."""
    return "\n".join([*_compared(d), *_confirmed(d)])


def _compared(d: Mapping[str, Any]) -> Iterator[str]:
    from dpfl_theory.recommend.minimum_budget import describe_changes as would_help

    data, budget = d["data"], d["budget"]
    yield from _data_lines(data)
    start, accuracy = d["start"], d["start"]["accuracy"]
    shown = "" if accuracy is None else f", accuracy {accuracy['mean']:.3f}"
    yield f"at the start, 0: suboptimality {start['suboptimality']:.4g}{shown}"
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
            "Do not compare the two epsilons as numbers: the first hides all records of a client, the second one "
            "record, and does not protect a client. Replacement (replace) may change a sum by twice as much as "
            "omission (zero-out)."
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
        values = ", ".join(f"{k} {_copied(k, v)}" for k, v in row["hyperparameters"].items())
        yield (
            f"{row['name']:22}{row['protects']:9}{gap['mean']:>11.4g} +- {gap['error']:<5.1g}{shown:>12}"
            f"{rounded(row['epsilon']['high'], 'up'):>10}{row['vectors']:>9}  {values}"
        )
    yield "+- is one standard error over runs with other seeds; accuracy is that on the training data."


def _copied(name: str, value: float) -> str:
    """A hyper-parameter to five digits. Noise is rounded up and a threshold down, so that a copy of them is as private
    as the account says."""
    noisy = name.startswith("sigma") or "noise" in name
    return rounded(value, "up" if noisy else "down" if name in _thresholds() else "nearest")


@cache
def _thresholds() -> frozenset[str]:
    """The symbols of all algorithms' thresholds."""
    from dpfl_theory.algorithms import algorithms

    declared = (kind.parameters.get("threshold") for kind in algorithms().values())
    return frozenset(one.symbol for one in declared if one is not None)


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
