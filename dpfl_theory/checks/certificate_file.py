"""Certificates as plain data, and the files that hold them: format ``dpfl-theory-certificate/1``.

A certificate says: for all functions of these classes, and all vectors and numbers that meet these conditions,
left <= bound * right. It holds

* ``vectors``, ``values``: names of the vectors v_0, v_1, ... and the numbers f_0, f_1, ... of the problem, to be read;
* ``functions``: for each function its ``class``, its ``L`` and ``mu`` where the class has them, and the ``points`` at
  which it was evaluated: point ``x``, gradient ``g``, value ``f``, as linear combinations [[index, coefficient], ...];
* ``left``, ``right`` and the ``form`` of each of the ``conditions``: ``products`` [[i, j, c], ...] of vectors and
  ``values`` [[m, a], ...] mean sum c <v_i, v_j> + sum a f_m; a condition's form is ``<=`` or ``==`` 0;
* ``bound``, and the multipliers: one with each condition, and ``interpolation`` [[function, i, j, multiplier], ...].

Every number is a fraction in text, such as "-3/4". The file has no matrix of an interpolation inequality: a verifier
computes the inequality from class, parameters and points. A multiplier that is not listed is 0, so a condition that the
proof does not use is left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpfl_theory import verify_certificate
from dpfl_theory.checks.homogeneity import Condition
from dpfl_theory.checks.interpolation import SampledFunction
from dpfl_theory.checks.verifier import Form

FORMAT = verify_certificate.FORMAT
NOTE = "certificate"
"""The note of a worst-case check that has its certificate."""
SCRIPT = Path(verify_certificate.__file__)
"""The script that verifies such a file and imports nothing of this package."""


def certificate(
    left: Form,
    right: Form,
    conditions: Sequence[Condition],
    samples: Sequence[SampledFunction],
    multipliers: Sequence[Fraction],
) -> dict[str, Any] | str:
    """The certificate of left <= right as plain data; or a sentence that says why there is no certificate."""
    used = [(c, v) for c, v in zip(conditions, multipliers, strict=True) if v]
    for c, _ in used:
        if c.unknown:
            return f"the format has no inequalities of the class {c.unknown}"
    vectors = 1 + max((i for f in _forms(left, right, used, samples) for pair in f.products for i in pair), default=-1)
    values = 1 + max((m for f in _forms(left, right, used, samples) for m in f.values), default=-1)
    names, numbers = _names(samples, vectors, values)
    return {
        "vectors": names,
        "values": numbers,
        "functions": [_function(s) for s in samples],
        "conditions": [
            {
                "name": c.name,
                "form": _form(c.form.exact),
                "relation": "==" if c.form.equality else "<=",
                "multiplier": str(v),
            }
            for c, v in used
            if c.pair is None
        ],
        "left": _form(left),
        "right": _form(right),
        "bound": "1",
        "interpolation": [[*c.pair, str(v)] for c, v in used if c.pair is not None],
    }


def _forms(
    left: Form, right: Form, used: Iterable[tuple[Condition, Fraction]], samples: Iterable[SampledFunction]
) -> Iterable[Form]:
    yield from (left, right, *(c.form.exact for c, _ in used))
    for triplet in (t for s in samples for t in s.points):
        yield Form({(k, k): v for part in triplet[:2] for k, v in part.items()}, triplet[2])


def _names(samples: Sequence[SampledFunction], vectors: int, values: int) -> tuple[list[str], list[str]]:
    """What vectors and numbers are, as far as the functions determine it: gradients, values and stationary points."""
    of_vectors: dict[int, str] = {}
    of_values: dict[int, str] = {}
    for n, s in enumerate(samples):
        for k, (x, g, f) in enumerate(s.points):
            for combination, names, text in (
                (g, of_vectors, f"gradient of f{n} at its point {k}"),
                (x if not g else {}, of_vectors, f"stationary point of f{n}"),
                (f, of_values, f"f{n} at its point {k}"),
            ):
                if list(combination.values()) == [1]:
                    names.setdefault(next(iter(combination)), text)
    return (
        [of_vectors.get(i, f"vector {i}") for i in range(vectors)],
        [of_values.get(m, f"number {m}") for m in range(values)],
    )


def _function(sampled: SampledFunction) -> dict[str, Any]:
    parameters = {name: str(v) for name, v in (("L", sampled.L), ("mu", sampled.mu)) if v is not None}
    points = [dict(zip("xgf", map(_combination, triplet))) for triplet in sampled.points]
    return {"class": sampled.kind, **parameters, "points": points}


def _combination(combination: Mapping[int, Fraction]) -> list[list[Any]]:
    return [[k, str(v)] for k, v in sorted(combination.items())]


def _form(form: Form) -> dict[str, Any]:
    products = [[i, j, str(c)] for (i, j), c in sorted(form.products.items())]
    return {"products": products, "values": _combination(form.values)}


def of_evidence(evidence: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The certificates in the notes of evidence as plain data, each with its statement, check and claim. An equality
    has those of both halves."""
    found: list[dict[str, Any]] = []
    for e in evidence:
        notes = e.get("notes") or {}
        for part in (notes, notes.get("other half") or {}):
            kept = part.get(NOTE)
            if isinstance(kept, Mapping):
                about = {"statement": e["statement"], "check": e["check"], "claim": part.get("claim", "")}
                about["coefficients_rounded"] = bool(part.get("coefficients_rounded"))
                found.append({**about, **kept, **about})
    return found


def is_proof(certificate: Mapping[str, Any]) -> bool:
    """Whether it is a certificate and proves its claim, as the standalone script decides."""
    try:
        verify_certificate.verify(certificate)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def text(certificates: Sequence[Mapping[str, Any]]) -> str:
    """The text of a file with these certificates."""
    bodies = (
        ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in c.items())
        for c in certificates
    )
    whole = ",\n".join(f" {{\n{body}\n }}" for body in bodies)
    return f'{{\n"format": "{FORMAT}",\n"certificates": [\n{whole}\n]\n}}\n'
