"""The output of a `privacy` command: one document of plain data, printed as JSON or as lines of text."""

from __future__ import annotations

import contextlib
import math
import re
import threading
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from typing import Any

from dpfl_theory.cli._layout import laid_out
from dpfl_theory.cli._options import as_json, deliver, target_of
from dpfl_theory.errors import DpflError
from dpfl_theory.runtime.console import QUIET_SECONDS, Progress, as_options, choice, option
from dpfl_theory.runtime.time_limits import TimeoutExceeded, at_most

DIGITS = 5
ROUNDING = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}


class Output:
    """The format and target of the output; invalid ones are refused before the work starts."""

    def __init__(self, format_: str, output: str | None) -> None:
        self.format = choice("format", format_, ("text", "json"))
        self.target = target_of(output)

    def write(self, document: Mapping[str, Any]) -> None:
        """Write the document; numbers that are not finite become null, with a warning.

        The text shows limits. The quantity that the document names under ``given`` ("epsilon" or "delta") is shown
        unchanged.
        """

        missing: list[str] = []
        made = _finite(document, "", missing)
        if missing:
            made["warnings"] = [*made.get("warnings", []), f"Not finite, and therefore null: {', '.join(missing)}."]
        made["schema"] = "dpfl-theory/privacy/1"
        text = as_options(as_json(made) if self.format == "json" else as_text(made))
        deliver(text, self.target, re.sub(" +", " ", as_text(made).splitlines()[0]))


def _finite(value: Any, where: str, missing: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {k: _finite(v, f"{where}.{k}" if where else str(k), missing) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v, f"{where}[{i}]", missing) for i, v in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        missing.append(where)
        return None
    return value


class Unfinished(DpflError):
    """A time budget ended the work, so that there is no result."""

    exit_code = 3


@contextlib.contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """End the computation inside after ``seconds``. Raises `Unfinished`."""
    try:
        with contextlib.nullcontext() if seconds is None else at_most(seconds):
            yield
    except TimeoutExceeded as error:
        raise Unfinished(f"{error}: give a larger `budget`, or ask for fewer `rounds`") from error


@contextlib.contextmanager
def busy(title: str, doing: str = "composing privacy losses") -> Iterator[None]:
    """Show activity while one call computes that does not report its progress."""
    done = threading.Event()

    def tell() -> None:
        with Progress(title) as progress:
            while not done.wait(QUIET_SECONDS):
                progress(0.0, doing)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def rounded(value: float, direction: str = "nearest") -> str:
    """A number to five digits; a limit is rounded outwards, so that it stays a valid limit.

    >>> rounded(2.000001, "up"), rounded(2.000001, "down"), rounded(1e-05)
    ('2.0001', '2', '1e-05')
    """
    return f"{float(Context(prec=DIGITS, rounding=ROUNDING[direction]).create_decimal(repr(float(value)))):.{DIGITS}g}"


def as_text(d: Mapping[str, Any]) -> str:
    """Lines of a name and its value."""
    rows = [*_file_entries(d), *_how(d)]
    rows += [("note", text) for text in d.get("notes", [])] + [("warning", text) for text in d.get("warnings", [])]
    return laid_out(rows)


def _file_entries(d: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "symbol" in d:
        value, low = d[d["symbol"]], d["low"]
        yield d["symbol"], f"{rounded(value, 'up')} (certified; nothing below {rounded(low, 'down')} suffices)"
    if "rounds" in d:
        yield "rounds", str(d["rounds"])
    if "noise_multiplier" in d:
        yield "noise multiplier", rounded(d["noise_multiplier"], "up")
    for name, value in d.get("sigma", {}).items():
        yield name.replace("_", " "), f"{rounded(value, 'up')} for clipping threshold {d['clip']:g}"
    for name in ("epsilon", "delta"):
        if name in d:
            yield name, f"{d[name]['estimate']:g}" if name == d.get("given") else _limits(d[name])


def _limits(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f"{value:g}"
    low, estimate, high = value["low"], value["estimate"], value["high"]
    if low is None and high is None:
        return "-" if estimate is None else rounded(estimate)
    below = "-" if low is None else rounded(low, "down")
    if high is None:
        return f"at least {below}, and no upper limit is certified"
    return f"{below} to {rounded(high, 'up')} (certified limits)"


def _how(d: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "formula" in d:
        yield "prescription", plain_formula(d["formula"])
        yield "range", f"{d['hypothesis']}; here u must be at least {rounded(d['range_ratio'], 'up')}"
    m = d["mechanism"]
    yield "algorithm", f"{m['algorithm']}, protecting one {m['protects']}"
    fixed = ("algorithm", "protects", "noise_added_by")
    with_ = [f"{k.replace('_', ' ')} {f'{v:g}' if isinstance(v, float) else v}" for k, v in m.items() if k not in fixed]
    yield "with", ", ".join(with_)
    yield from d.get("setting", {}).items()
    if d.get("assumed"):
        said = ", ".join(f"{option(name)} {value}" for name, value in d["assumed"].items())
        yield "assumed", f"{said} (not given)"
    for other in d.get("otherwise", []):
        yield "otherwise", f"{_otherwise(other)} {other['clause']}{_options(other['options'])}"
    if "accountant" in d:
        yield "accountant", d["accountant"]
    moments = d.get("moments")
    if moments and moments["epsilon"] is not None:
        yield "moments", f"{rounded(moments['epsilon'], 'up')} by Renyi divergence of order {moments['order']:.4g}"
    if "order" in d:
        yield "order", f"{d['order']:g}"


def _otherwise(other: Mapping[str, Any]) -> str:
    """The result of another reading of the same request: its upper limit, or the same noise as another multiplier."""
    if "noise_multiplier" in other:
        return f"this noise is the multiplier {rounded(other['noise_multiplier'], 'up')}"
    (name,) = (n for n in ("epsilon", "delta") if n in other)
    low, high = other[name]["low"], other[name]["high"]
    if low is None:
        return f"{name} at most {rounded(high, 'up')}"
    return f"{name} {rounded(low, 'down')}" + ("" if high is None else f" to {rounded(high, 'up')}")


def _options(options: Mapping[str, str]) -> str:
    return f" ({', '.join(f'{option(name)} {value}' for name, value in options.items())})" if options else ""


def plain_formula(latex: str) -> str:
    r"""A formula as plain text, for the few LaTeX commands that prescriptions use.

    >>> plain_formula(r"\\sigma = c \\sqrt{(K+1) \\log(1/\\delta)} / \\epsilon")
    'sigma = c sqrt((K+1) log(1/delta)) / epsilon'
    """
    text = latex.replace(r"\ge", ">=").replace(r"\varepsilon", "epsilon").replace("\\", "")
    return text.replace("{", "(").replace("}", ")")
