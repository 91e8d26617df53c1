"""A new user's first hour, verbatim: ``python -m benchmarks.distribution.transcript WHEEL FILE.md``.

A fresh environment, ``pip install`` of the wheel, a user's theorem, a mistake in it, and a round of the user's code.
The file has every command with its output and its seconds. It is written only if each command ends as expected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

__all__ = ["STEPS", "Step"]

ROOT = Path(__file__).parents[2]
MOST, LAST = 26, 4
"""The number of output lines that are shown for a command, and how many of these are its last ones."""


class Step(NamedTuple):
    """A typed command, its expected exit code, and text that it must print."""

    typed: str
    code: int = 0
    shows: str = ""
    before: str = ""


STEPS = (
    Step("python3 -m venv trial && . trial/bin/activate && pip install dpfl_theory-*.whl", before="## Installing"),
    Step("dpfl-theory list das2022 --kind theorem", 0, "das2022.theorem4a"),
    Step("dpfl-theory check das2022.theorem4a --method algebra", 0, "1 as expected"),
    Step("dpfl-theory new theorem my-rate", 0, before="## A theorem of one's own"),
    Step("dpfl-theory check --file my_rate.py", 0, "holds"),
    Step("sed -i 's/s.eta \\* s.d \\* s.sigma\\*\\*2}/s.eta * s.sigma**2}/' my_rate.py  # the dimension is lost", 0),
    Step("dpfl-theory check --file my_rate.py", 1, "violated"),
    Step("sed -i 's/s.eta \\* s.sigma\\*\\*2}/s.eta * s.d * s.sigma**2}/' my_rate.py  # and comes back", 0),
    Step("dpfl-theory check --file my_rate.py", 0, "holds"),
    Step("dpfl-theory plot --file my_rate.py --over eta --method exact --output over-eta.svg", 0, "eta"),
    Step("dpfl-theory report --file my_rate.py --output report", 0),
    Step("dpfl-theory new examples", 0, before="## A round of one's own code"),
    Step("sed -n '/def one_round/,$p' examples/rounds/dp_fedavg_mistaken.py", 0, "np.clip"),
    Step(
        "dpfl-theory conform examples/rounds/dp_fedavg_mistaken.py:one_round --as dp-fedavg",
        1,
        "per-coordinate clipping",
    ),
    Step("dpfl-theory conform examples/rounds/dp_fedavg.py:one_round --as dp-fedavg", 0, "conforms"),
)


def shown(text: str, place: Path) -> str:
    """The output, without the path of this folder, and without the middle of a long output."""
    lines = [line.rstrip() for line in text.replace(f"{place}/", "").splitlines()]
    if len(lines) > MOST:
        lines = [*lines[: MOST - LAST], f"[{len(lines) - MOST} lines more]", *lines[-LAST:]]
    return "\n".join(lines)


def told(wheel: Path, place: Path) -> str:
    """The transcript. Raises SystemExit for a step that does not end as expected."""
    (place / wheel.name).write_bytes(wheel.read_bytes())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DPFL", "VIRTUAL_ENV"))}
    environment = {**kept, "HOME": str(place), "PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "COLUMNS": "110"}
    environment["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    parts = [
        "# A stranger's first hour",
        "",
        "`python -m benchmarks.distribution.transcript WHEEL FILE.md` writes this file.",
    ]
    for step in STEPS:
        started = time.monotonic()
        line = step.typed if step.before == "## Installing" else f". trial/bin/activate && {step.typed}"
        done = subprocess.run(
            ["bash", "-c", line], cwd=place, env=environment, capture_output=True, text=True, timeout=1800, check=False
        )
        seconds, printed = time.monotonic() - started, done.stdout + done.stderr
        if done.returncode != step.code or step.shows not in printed:
            raise SystemExit(f"{step.typed} ended with {done.returncode}, not {step.code}:\n{printed}")
        code = f", exit code {done.returncode}" if done.returncode else ""
        parts += [
            "",
            *([step.before, ""] if step.before else []),
            "```console",
            f"$ {step.typed}",
            shown(printed, place),
        ]
        parts += ["```", "", f"{seconds:.1f} s{code}"]
    return "\n".join(parts).replace("\n\n```\n", "\n```\n") + "\n"


def main() -> int:
    """Write the transcript of a wheel into a file."""
    if len(sys.argv) != 3:
        print("python -m benchmarks.distribution.transcript WHEEL FILE.md", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="stranger-") as folder:
        text = told(Path(sys.argv[1]).resolve(), Path(folder))
    Path(sys.argv[2]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
