"""The subcommands of `privacy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from dpfl_theory import privacy
from dpfl_theory.algorithms.user_files import resolved
from dpfl_theory.cli import _complete
from dpfl_theory.cli._audit import audit
from dpfl_theory.cli._formulas import ACCOUNTANTS, TIGHT, Formula, accountant
from dpfl_theory.cli._layout import table
from dpfl_theory.cli._options import Format, Target, as_json, number
from dpfl_theory.cli._output import Output, busy, within
from dpfl_theory.cli._parameters import build, parameters, with_options
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.privacy.accounting import meaningless_epsilon
from dpfl_theory.privacy.mechanisms import Mechanism, get, mechanisms
from dpfl_theory.privacy.mechanisms.base import OF
from dpfl_theory.privacy.pld import CertifiedInterval, delta_limits, epsilon_limits
from dpfl_theory.runtime.console import choice, emit, parse_budget
from dpfl_theory.statements.noise_constants import PRESCRIPTIONS
from dpfl_theory.statements.noise_constants import constant as constant_of

app = typer.Typer(rich_markup_mode=None)
WIDE = {"max_content_width": 110}

KNOWN = mechanisms()
PARAMETERS = parameters(KNOWN.values())
PRESCRIBED = {p.algorithm: get(p.algorithm) for p in PRESCRIPTIONS.values()}

Algorithm = Annotated[
    str,
    typer.Option(
        metavar="A",
        help="The algorithm, one of those that `privacy list` shows.",
        autocompletion=_complete.complete_from(KNOWN),
    ),
]


MultiplierOf = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(OF),
        help="The noise to which --noise-multiplier refers: of the sum over a cohort, of each client's message, of the "
        "average, or of a local step.",
    ),
]
Delta = Annotated[str | None, typer.Option(metavar="D", help="The delta of (epsilon, delta), in (0, 1).")]
Epsilon = Annotated[str | None, typer.Option(metavar="E", help="The epsilon of (epsilon, delta).")]
KeptDelta = Annotated[str, typer.Option("--delta", metavar="D", help="The required delta, in (0, 1).")]
KeptEpsilon = Annotated[str, typer.Option("--epsilon", metavar="E", help="The required epsilon.")]
Sigma = Annotated[
    str | None, typer.Option(metavar="S", help="The paper's sigma; with --clip, instead of --noise-multiplier.")
]
Clip = Annotated[str | None, typer.Option(metavar="C", help="Clipping threshold; also prints the paper's sigma.")]
AccountantName = Annotated[
    str,
    typer.Option("--accountant", metavar="|".join(ACCOUNTANTS), help="Certified limits, or formulas as printed."),
]
Budget = Annotated[str | None, typer.Option(metavar="60s", help="Time limit, with exit code 3.")]


def commands() -> dict[str, Any]:
    """The commands by name."""
    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@app.command(context_settings=WIDE)
@with_options(PARAMETERS.values(), KNOWN)
def account(
    algorithm: Algorithm,
    multiplier_of: MultiplierOf = None,
    sigma: Sigma = None,
    clip: Clip = None,
    delta: Delta = None,
    epsilon: Epsilon = None,
    accountant_: AccountantName = TIGHT,
    format_: Format = "text",
    output: Target = None,
    budget: Budget = None,
    **given: str | None,
) -> None:
    """Compute epsilon of a run for a given delta, or delta for a given epsilon.

    The true value is between the limits low and high. For example:

    \b
      dpfl-theory privacy account --algorithm dp-fedavg --clients 5000 \\
        --cohort 1000 --sampling poisson --noise average \\
        --noise-multiplier 2.7 --rounds 200 --delta 1e-5

    DP-SGD with Poisson sampling, on 60000 records in batches of 256:

    \b
      dpfl-theory privacy account --algorithm poisson-gaussian \\
        --sampling-rate 256/60000 --noise-multiplier 1.3 --steps 3510 --delta 1e-5
    """
    kind: type[Mechanism] = get(resolved(algorithm))
    answer = Output(format_, output)
    if (delta is None) == (epsilon is None):
        raise InputError("give either --delta or --epsilon; the other one is computed")
    mechanism = build(kind, given)
    chosen = _chosen(given, multiplier_of=multiplier_of, sigma=sigma)
    threshold = _positive("--clip", clip)
    if sigma is not None:
        if threshold is None or mechanism.noise_multiplier is not None:
            raise InputError(
                "--sigma is given with --clip, in place of --noise-multiplier: give it like that or not at all"
            )
        if multiplier_of is not None:
            raise InputError("--sigma determines which noise it refers to: leave out --multiplier-of")
        mechanism = mechanism.with_(noise_multiplier=mechanism.multiplier(_positive("--sigma", sigma) or 0, threshold))
    mechanism = _converted(mechanism, multiplier_of)
    formula = accountant(accountant_, mechanism)
    with busy("account"), within(parse_budget(budget)):
        if delta is not None:
            document = _account(mechanism, formula, number("--delta", delta))
        elif formula is None:
            document = privacy.account(mechanism, epsilon=number("--epsilon", epsilon or "")).document()
        else:
            raise InputError(f"the accountant {accountant_} computes epsilon for a given delta: give --delta")
        document |= _readings(mechanism, chosen, formula, document, "epsilon" if delta is not None else "delta")
    asked = "epsilon" if delta is None else "delta"
    answer.write(
        {
            **document,
            **_sigma(mechanism, threshold),
            "accountant": accountant_,
            "given": asked,
        }
    )


@app.command(context_settings=WIDE)
@with_options((p for p in PARAMETERS.values() if p.name != "noise_multiplier"), KNOWN)
def calibrate(
    algorithm: Algorithm,
    epsilon: KeptEpsilon,
    delta: KeptDelta,
    clip: Clip = None,
    accountant_: AccountantName = TIGHT,
    format_: Format = "text",
    output: Target = None,
    budget: Budget = None,
    **given: str | None,
) -> None:
    """Find the noise that makes a run private enough.

    It is the smallest noise multiplier with which the run is (epsilon, delta)-private. For example:

    \b
      dpfl-theory privacy calibrate --algorithm dp-norm-ec --rounds 1000 \\
        --epsilon 8 --delta 1e-5 --clip 1
    """
    kind: type[Mechanism] = get(resolved(algorithm))
    answer = Output(format_, output)
    mechanism = build(kind, given, computed="noise_multiplier")
    mechanism.count("rounds")
    threshold, e, d = _positive("--clip", clip), number("--epsilon", epsilon), number("--delta", delta)
    formula = accountant(accountant_, mechanism)
    with busy("calibrate"), within(parse_budget(budget)):
        z = (formula.calibrate if formula else privacy.calibrate)(mechanism, epsilon=e, delta=d)
        mechanism = mechanism.with_(noise_multiplier=z)
        document = _account(mechanism, formula, d)
        document |= _readings(mechanism, _chosen(given), formula, document, "epsilon", found="noise_multiplier")
    answer.write(
        {
            "noise_multiplier": z,
            **_sigma(mechanism, threshold),
            **document,
            "accountant": accountant_,
            "given": "delta",
        }
    )


@app.command(context_settings=WIDE)
@with_options((p for p in PARAMETERS.values() if p.name != "rounds"), KNOWN)
def rounds(
    algorithm: Algorithm,
    epsilon: KeptEpsilon,
    delta: KeptDelta,
    multiplier_of: MultiplierOf = None,
    accountant_: AccountantName = TIGHT,
    format_: Format = "text",
    output: Target = None,
    budget: Budget = None,
    **given: str | None,
) -> None:
    """Find how many rounds a run can afford.

    It is the largest number of rounds that is (epsilon, delta)-private. For example, a cell of noble2022's Table 1
    by the paper's own accounting:

    \b
      dpfl-theory privacy rounds --algorithm dp-scaffold --users 100 \\
        --records 4000 --user-rate 0.05 --record-rate 0.2 --local-steps 10 \\
        --noise-multiplier 20 --epsilon 3 --delta 2.5e-6 --accountant noble2022
    """
    kind: type[Mechanism] = get(resolved(algorithm))
    answer = Output(format_, output)
    mechanism = build(kind, given, computed="rounds")
    mechanism.value("noise_multiplier")
    mechanism = _converted(mechanism, multiplier_of)
    e, d = number("--epsilon", epsilon), number("--delta", delta)
    formula = accountant(accountant_, mechanism)
    with busy("rounds"), within(parse_budget(budget)):
        found = (formula.largest_rounds if formula else privacy.largest_rounds)(mechanism, epsilon=e, delta=d)
        run = mechanism.with_(rounds=max(found, 1))
        document = _account(run, formula, d)
        document |= _readings(run, _chosen(given, multiplier_of=multiplier_of), formula, document, "epsilon")
    if found == 0:
        one = document["epsilon"]["estimate"]
        document["warnings"].append(f"One round is too many: its epsilon is {one:.5g}.")
        document["epsilon"] = {name: None if v is None else 0.0 for name, v in document["epsilon"].items()}
        document["mechanism"] = mechanism.describe()
        document["otherwise"], document["moments"] = [], None
    answer.write({"rounds": found, **document, "accountant": accountant_, "given": "delta"})


@app.command(context_settings=WIDE)
@with_options((p for p in parameters(PRESCRIBED.values()).values() if p.name != "noise_multiplier"), PRESCRIBED)
def constant(
    id_: Annotated[str, typer.Argument(metavar="ID", help=f"The prescription: {', '.join(PRESCRIPTIONS)}.")],
    epsilon: KeptEpsilon,
    delta: KeptDelta,
    format_: Format = "text",
    output: Target = None,
    budget: Budget = None,
    **given: str | None,
) -> None:
    """Find the constant that a printed noise prescription needs.

    It is the smallest with which the prescribed noise gives (epsilon, delta). For example, the q of das2022's
    Appendix F:

    \b
      dpfl-theory privacy constant das2022.theorem3 --clients 100 \\
        --rounds 500 --epsilon 5 --delta 1e-6
    """
    answer = Output(format_, output)
    if id_ not in PRESCRIPTIONS:
        raise unknown_name("prescription", id_, PRESCRIPTIONS)
    kind = get(PRESCRIPTIONS[id_].algorithm)
    mechanism = build(kind, given, computed="noise_multiplier")
    e, d = number("--epsilon", epsilon), number("--delta", delta)
    chosen = {k: v for k, v in vars(mechanism).items() if v is not None}
    with busy("constant"), within(parse_budget(budget)):
        document = constant_of(id_, epsilon=e, delta=d, **chosen).document()
    document["assumed"] = _assumed(mechanism, {*_chosen(given), "multiplier_of"})
    warnings, symbol = list(meaningless_epsilon(e, mechanism.protects)), PRESCRIPTIONS[id_].symbol
    # The second key is the former name of the first.
    answer.write({**document, "epsilon": e, "delta": d, "symbol": symbol, "letter": symbol, "warnings": warnings})


@app.command("list")
def list_(format_: Format = "text") -> None:
    """List the algorithms that can be accounted for."""
    choice("format", format_, ("text", "json"))
    listed = [_described(kind) for kind in KNOWN.values()]
    if format_ == "json":
        emit(as_json(listed))
    else:
        names = ("algorithm", "protects", "noise", "relations", "sampling", "views", "source")
        rows: list[Sequence[str]] = [
            tuple(", ".join(v) if isinstance(v, list) else v for v in (d[name] for name in names)) for d in listed
        ]
        emit(table([("algorithm", "protects", "noise", "relation", "sampling", "view", "source"), *rows]))


def _described(kind: type[Mechanism]) -> dict[str, Any]:
    """The entry of an algorithm in `list`; where it leaves no choice, the only possible value."""
    own = parameters([kind])

    def offered(name: str, only: str) -> list[str]:
        return list(own[name].choices) if name in own else [kind.fixed.get(name, only)]

    return {
        "algorithm": kind.name,
        "title": kind.title,
        "protects": kind.protects,
        "noise_added_by": kind.noise_added_by,
        "noise": offered("noise", "per-client"),
        "relations": offered("relation", "replace"),
        "sampling": offered("sampling", "fixed" if "user_rate" in own else "full"),
        "views": offered("view", "server"),
        "parameters": list(own),
        "multiplier": kind().setting()["multiplier"],
        "source": kind.source,
    }


def _chosen(options: Mapping[str, str | None], **more: str | None) -> set[str]:
    """The names of the given options; a sigma also determines the noise to which it refers."""
    names = {name for name, text in {**options, **more}.items() if text is not None}
    return names | ({"multiplier_of"} if "sigma" in names else set())


def _converted(mechanism: Mechanism, multiplier_of: str | None) -> Mechanism:
    """The mechanism with its own noise multiplier, converted from that of another noise."""
    if multiplier_of is None or choice("multiplier", multiplier_of, tuple(OF)) == mechanism.multiplier_of():
        return mechanism
    factors = mechanism.factors()
    if multiplier_of not in factors:
        known = ", ".join(dict.fromkeys((mechanism.multiplier_of(), *factors)))
        raise InputError(f"--multiplier-of is {multiplier_of}: for this run of {mechanism.name} choose one of {known}")
    return mechanism.with_(noise_multiplier=mechanism.value("noise_multiplier") * factors[multiplier_of])


def _assumed(mechanism: Mechanism, chosen: set[str]) -> dict[str, str]:
    """The choices that were not given, with the assumed values."""
    own = parameters([type(mechanism)])
    taken = {n: str(getattr(mechanism, n)) for n, p in own.items() if p.choices and n not in chosen}
    if "multiplier_of" not in chosen and mechanism.factors():
        taken["multiplier_of"] = mechanism.multiplier_of()
    return taken


def _readings(
    mechanism: Mechanism,
    chosen: set[str],
    formula: Formula | None,
    document: Mapping[str, Any],
    asked: str,
    found: str = "",
) -> dict[str, Any]:
    """The assumptions on the noise, and the results of other readings; ``found`` is the quantity that was computed."""
    others = []
    for other in mechanism.alternatives(chosen) if formula is None else ():
        entry: dict[str, Any] = {"clause": other.clause, "options": dict(other.options)}
        if found == "noise_multiplier" and other.factor is not None:  # the same noise, reported as another multiplier
            entry["clause"] = f"of {OF[other.options['multiplier_of']]}"
            others.append({**entry, "options": {}, found: mechanism.value(found) / other.factor})
            continue
        limits: CertifiedInterval
        if asked == "epsilon":
            limits = epsilon_limits(other.event, document["delta"]["estimate"])
        else:
            limits = delta_limits(other.event, document["epsilon"]["estimate"])
        others.append({**entry, asked: {**vars(limits), **({"low": None} if other.bound else {})}})
    if found == "noise_multiplier":  # it is computed, so that no option determines its noise
        chosen = {*chosen, "multiplier_of"}
    return {"assumed": _assumed(mechanism, chosen), "otherwise": others}


def _account(mechanism: Mechanism, formula: Formula | None, delta: float) -> dict[str, Any]:
    """The epsilon of one run at delta, with its setting, by the chosen accountant."""
    if formula is not None:
        return formula.account(mechanism, delta=delta)
    return privacy.account(mechanism, delta=delta).document()


def _sigma(mechanism: Mechanism, clip: float | None) -> Mapping[str, Any]:
    return {} if clip is None else {"sigma": mechanism.sigma(clip), "clip": clip}


def _positive(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    value: float = number(option, text)
    if not value > 0:
        raise InputError(f"{option} is {text}: give a positive number")
    return value


app.command(context_settings=WIDE)(audit)  # the last in the list of commands
