"""Verify worst-case proofs: python verify_certificate.py FILE. It prints the proved claims; exit code 0 if all, else 1.

FILE has the format dpfl-theory-certificate/1. Its texts are only labels: the proof concerns the forms in the file.

A certificate claims left <= bound * right for all functions of its classes, all vectors v and all numbers f that meet
its conditions. Sides and conditions are forms: sum c <v_i, v_j> + sum a f_m. The claim is proved if

    bound * right - left + sum of multiplier * condition + sum of multiplier * inequality

is a sum of squares. A condition is a form that is <= 0 (then its multiplier is >= 0) or == 0 (any multiplier).
The inequalities are those that a function of a class satisfies at any two points (Taylor, Hendrickx, Glineur 2017).
They are computed here from class, parameters and points, as forms that are <= 0; their multipliers are >= 0.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from fractions import Fraction
from typing import Any

Form = dict[tuple[int, ...], Fraction]
FORMAT = "dpfl-theory-certificate/1"
CLASSES = {"convex": "", "strongly convex": "mu", "smooth": "L", "smooth convex": "L", "smooth strongly convex": "L mu"}


def number(text: Any) -> Fraction:
    """Parse a fraction such as "-3/4"."""
    if not isinstance(text, str) or not re.fullmatch("-?[0-9]+(/[1-9][0-9]*)?", text):
        raise ValueError(f"{text!r} is not a fraction")
    return Fraction(text)


def entry(things: Any, index: Any) -> Any:
    """The entry with an index, if there is one."""
    if type(index) is not int or not 0 <= index < len(things):
        raise ValueError(f"{index!r} is not an index below {len(things)}")
    return things[index]


def combination(pairs: Any, things: range) -> dict[int, Fraction]:
    """A linear combination, as {index: coefficient}."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    for k, c in pairs:
        found[entry(things, k)] += number(c)
    return found


def read(form: Any, vectors: range, values: range) -> Form:
    """A form, as {(i, j): c, (m,): a}."""
    found: Form = defaultdict(Fraction, {(m,): a for m, a in combination(form["values"], values).items()})
    for i, j, c in form["products"]:
        found[tuple(sorted((entry(vectors, i), entry(vectors, j))))] += number(c)
    return found


def function(f: Any, vectors: range, values: range) -> tuple[str, Fraction, Fraction, Any]:
    """A function as its class, L, mu (0 where the class lacks it) and points (x, gradient, value)."""
    needed = CLASSES[f["class"]].split()
    L, mu = (number(f[name]) if name in needed else Fraction(0) for name in ("L", "mu"))
    if mu < 0 or ("L" in needed and mu >= L) or any(name in f and name not in needed for name in ("L", "mu")):
        raise ValueError(f"a {f['class']} function has the parameters {needed}, with 0 <= mu < L")
    names = {"x": vectors, "g": vectors, "f": values}
    return f["class"], L, mu, [[combination(p[part], names[part]) for part in "xgf"] for p in f["points"]]


def inequality(sampled: Any, i: Any, j: Any) -> Form:
    """The interpolation inequality of a function's class at its points i and j: a form that is <= 0."""
    if i == j:
        raise ValueError("an inequality needs two different points")
    kind, L, mu, points = sampled
    one, two, inverse = entry(points, i), entry(points, j), 1 / L if L else Fraction(0)
    d, e, rise = ({k: a.get(k, 0) - b.get(k, 0) for k in a.keys() | b.keys()} for a, b in zip(one, two))
    mu = -L if kind == "smooth" else mu
    form: Form = defaultdict(Fraction, {(m,): -c for m, c in rise.items()})
    share = 1 / (2 * (1 - mu * inverse))
    # f_j - f_i + <g_j, d> + (|e|^2 / L - 2 mu <e, d> / L + mu |d|^2) / (2 (1 - mu / L)) <= 0
    for a, b, c in ((two[1], d, 1), (e, e, share * inverse), (e, d, -2 * share * mu * inverse), (d, d, share * mu)):
        for k, m in ((k, m) for k in a for m in b):
            form[tuple(sorted((k, m)))] += c * a[k] * b[m]
    return form


def squares(form: Form) -> int:
    """The number of squares in the decomposition of sum c <v_i, v_j>; ValueError if it is not a sum of squares."""
    rest, count = {pair: c for pair, c in form.items() if c}, 0
    while rest:
        k = next((pair[0] for pair in rest if pair[0] == pair[-1] and len(pair) == 2), None)
        if k is None or rest[k, k] < 0:
            raise ValueError("what remains is not a sum of squares")
        row = {i + j - k: c if i == j else c / 2 for (i, j), c in rest.items() if k in (i, j)}
        for a, b in ((a, b) for a in row for b in row if a <= b):
            rest[a, b] = rest.get((a, b), Fraction(0)) - (1 if a == b else 2) * row[a] * row[b] / row[k]
        rest, count = {pair: c for pair, c in rest.items() if c}, count + 1
    return count


def verify(certificate: Any) -> str:
    """Verify one certificate and return the proved claim as a sentence; ValueError if it is not proved."""
    names = (range(len(certificate["vectors"])), range(len(certificate["values"])))
    functions, bound = [function(f, *names) for f in certificate["functions"]], number(certificate["bound"])
    terms = [(bound, read(certificate["right"], *names)), (Fraction(-1), read(certificate["left"], *names))]
    for condition in certificate["conditions"]:
        if condition["relation"] not in (["==", "<="] if number(condition["multiplier"]) >= 0 else ["=="]):
            raise ValueError("the multiplier of a condition '<=' is negative, or its relation is unknown")
        terms.append((number(condition["multiplier"]), read(condition["form"], *names)))
    for n, i, j, multiplier in certificate["interpolation"]:
        if number(multiplier) < 0:
            raise ValueError("the multiplier of an inequality is negative")
        terms.append((number(multiplier), inequality(entry(functions, n), i, j)))
    total: Form = defaultdict(Fraction)
    for factor, form in terms:
        for key, c in form.items():
            total[key] += factor * c
    if any(c for key, c in total.items() if len(key) == 1):
        raise ValueError("function values do not cancel")
    kinds = [kind + (f", L = {L}" if L else "") + (f", mu = {mu}" if mu else "") for kind, L, mu, _ in functions]
    message = f"left <= {bound} * right for functions f0, f1, ... that are ({'; '.join(kinds)})"
    return f"{message}, with {len(certificate['conditions'])} condition(s) and {squares(total)} square(s)"


def main(arguments: list[str]) -> int:
    """Verify the certificates of a file."""
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    try:
        with open(arguments[0], encoding="utf-8") as file:
            document = json.load(file)
        certificates = document["certificates"]
        if document["format"] != FORMAT or not isinstance(certificates, list) or not certificates:
            raise ValueError(f"there is no certificate of the format {FORMAT}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        print(f"NOT PROVED: {arguments[0]}: {error!r}")
        return 1
    failed = 0
    for k, c in enumerate(certificates):
        try:
            about = ", ".join(str(c[key]) for key in ("statement", "check", "claim"))
            print(f"proved: {about}: {verify(c)}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            print(f"NOT PROVED: certificate {k}: {error!r}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
