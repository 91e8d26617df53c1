"""`privacy audit`: lower limits for the epsilon of the running code, compared with the certified limits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dpfl_theory.cli._layout import laid_out, number, table
from dpfl_theory.cli._options import Device, Format, Seed, Target, as_json, deliver, target_of
from dpfl_theory.cli._options import number as parsed
from dpfl_theory.errors import InputError, unknown_name
from dpfl_theory.kernels import DEVICES, select
from dpfl_theory.runtime.console import Progress, choice, parse_seed

CONFIDENCE = 1.0 - 1e-6
"""All limits of one call hold together with this probability."""


def audit(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Audits [default: all].")] = None,
    delta: Annotated[str, typer.Option(metavar="D", help="The delta of (epsilon, delta), in (0, 1).")] = "1e-3",
    replicates: Annotated[
        str, typer.Option(metavar="N", help="Runs for each pair of neighbouring data sets.")
    ] = "400000",
    seed: Seed = "0",
    device: Device = "auto",
    format_: Format = "text",
    output: Target = None,
) -> int:
    """Audit the running code: how much privacy does it lose at least?

    Algorithms run with and without a canary; the limits hold with probability 1 - 1e-6 for independent runs. A limit
    above what accountants certify refutes the code or the accountant, and the exit code is 1. For example:

    \b
      dpfl-theory privacy audit "dp-fedavg, server noise" --delta 1e-3
    """
    from dpfl_theory.audit.registry import AUDITS

    choice("format", format_, ("text", "json"))
    target = target_of(output)
    for name in names or ():
        if name not in AUDITS:
            raise unknown_name("audit", name, AUDITS)
    chosen, share = list(names or AUDITS), parsed("--delta", delta)
    count = parsed("--replicates", replicates, whole=True)
    if not isinstance(count, int) or count < 1000:
        raise InputError(f"--replicates is {replicates}: give a whole number of at least 1000")
    if not 0 < share < 1:
        raise InputError(f"--delta is {delta}: it must lie in (0, 1)")
    if choice("device", device, DEVICES) == "cuda":
        select(device)
    rows: list[dict[str, Any]] = []
    with Progress("audit") as progress:
        for done, name in enumerate(chosen):
            progress(done / len(chosen), name)
            confidence = 1.0 - (1.0 - CONFIDENCE) / len(chosen)
            found = AUDITS[name].run(
                delta=share, replicates=count, seed=parse_seed(seed), confidence=confidence, device=device
            )
            setting = AUDITS[name].mechanism_with_rounds().setting()
            rows += [{"audit": name, **_plain(result), "setting": setting} for result in found]
    violated = [row for row in rows if row["verdict"] == "violated"]
    document = {"schema": "dpfl-theory/audit/1", "delta": share, "confidence": CONFIDENCE, "audits": rows}
    text = as_json(document) if format_ == "json" else _text(rows, bool(names))
    deliver(text, target, f"{len(rows)} audits, {len(violated)} above the certified limit")
    return 1 if violated else 0


def _plain(result: Any) -> dict[str, Any]:
    kept = (
        "canary", "epsilon_low", "mu_low", "claimed", "claimed_mu", "verdict", "score", "reason",
        "replicates", "seed",
    )  # fmt: skip
    return {name: getattr(result, name) for name in (*kept, "seconds")}


def _text(rows: list[dict[str, Any]], explained: bool) -> str:
    """A table; where the audits were named, also the privacy setting of each."""
    heading = ("verdict", "epsilon >=", "certified", "share", "audit", "canary", "seconds")
    body = [
        (
            row["verdict"],
            number(row["epsilon_low"]),
            number(row["claimed"]),
            f"{100 * row['epsilon_low'] / row['claimed']:.0f}%" if row["claimed"] else "-",
            row["audit"],
            row["canary"],
            f"{row['seconds']:.1f}",
        )
        for row in rows
    ]
    settings = {row["audit"]: row["setting"] for row in rows} if explained else {}
    about = [
        laid_out([(f"{name}:" if i == 0 else "", f"{key}: {said}") for i, (key, said) in enumerate(setting.items())])
        for name, setting in settings.items()
    ]
    return "\n".join([table([heading, *body], right=(1, 2, 3, 6)), *about])
