"""Run the steps of a GitHub Actions workflow here, verbatim: one job, in one folder, for one version of Python."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Step", "steps"]

ALWAYS = "${{ !cancelled() }}"
ACTIONS = ("actions/checkout", "actions/setup-python", "actions/upload-artifact")
"""Actions with a different effect here: the folder and the environment exist, and uploaded files must exist."""


@dataclass(frozen=True)
class Step:
    """A step that was run: its name, exit code, seconds, and the end of its output."""

    name: str
    code: int
    seconds: float
    said: str


def steps(workflow: Mapping[str, Any], folder: Path, python: str, environment: Mapping[str, str]) -> Iterator[Step]:
    """Run the steps of the workflow's only job in this folder; python: the entry of its matrix.

    Raises ValueError for a step that is not known here, or a missing artifact.
    """
    (job,) = workflow["jobs"].values()
    if python not in job["strategy"]["matrix"]["python"]:
        raise ValueError(f"the workflow's matrix has no Python {python}")
    failed = False
    for step in job["steps"]:
        name, condition = step.get("name", step.get("uses", "")), step.get("if")
        if condition not in (None, ALWAYS):
            raise ValueError(f"the condition {condition!r} of step {name!r} is not known here")
        if failed and condition is None:
            continue
        if "uses" in step:
            action = step["uses"].split("@")[0]
            if action not in ACTIONS:
                raise ValueError(f"the action {action!r} is not known here")
            if action == "actions/upload-artifact" and not any((folder / step["with"]["path"]).rglob("*")):
                raise ValueError(f"step {name!r} would upload nothing")
            continue
        started = time.monotonic()
        command = ["bash", "-e", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=folder, env=dict(environment), capture_output=True, text=True, timeout=1800, check=False
        )
        failed = failed or done.returncode != 0
        yield Step(name, done.returncode, time.monotonic() - started, (done.stdout + done.stderr)[-3000:])
