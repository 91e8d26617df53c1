"""`doctor`: versions, devices and packages of the machine."""

from __future__ import annotations

import os
import platform
from typing import Any

import typer

from dpfl_theory.cli._layout import table
from dpfl_theory.cli._options import Format, as_json
from dpfl_theory.runtime.console import choice, emit

app = typer.Typer()

PACKAGES = (
    "dpfl-theory", "numpy", "scipy", "numba", "threadpoolctl", "sympy", "mpmath", "cvxpy", "clarabel", "PEPit",
    "dp-accounting", "scikit-learn", "matplotlib", "typer", "rich", "jinja2", "latex2mathml",
    "markdown-it-py", "networkx",
)  # fmt: skip
EXTRAS = {"gpu": ("cupy-cuda13x",)}


@app.command()
def doctor(format_: Format = "text") -> int:
    """Print versions, devices, threads and optional packages; exit code 5 if a needed package is missing."""
    choice("format", format_, ("text", "json"))
    found = examine()
    if format_ == "json":
        emit(as_json(found))
    else:
        rows = [(name, version or "MISSING") for name, version in found["packages"].items()]
        rows += [
            (f"{name} (extra {extra})", version or "not installed")
            for extra, own in found["extras"].items()
            for name, version in own.items()
        ]
        adapters = [(name, state or "not installed") for name, state in found["adapters"].items()]
        devices = [(name, state) for name, state in found["devices"].items()]
        threads = [(name, str(count)) for name, count in found["threads"].items()]
        machine = [("python", found["python"]), ("platform", found["platform"])]
        emit("\n\n".join(table([(title, ""), *part]) for title, part in (
            ("machine", machine), ("threads", threads), ("devices", devices), ("packages", rows),
            ("adapters of conform", adapters))))  # fmt: skip
    return 0 if all(found["packages"].values()) else 5


def examine() -> dict[str, Any]:
    """The output of `doctor` as plain data."""
    from dpfl_theory.conform.adapters import LIBRARIES

    return {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "platform": platform.platform(),
        "threads": _threads(),
        "devices": _devices(),
        "packages": {name: _version(name) for name in PACKAGES},
        "adapters": {f"{name} ({package})": _version(package) for name, package in LIBRARIES.items()},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
    }


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _threads() -> dict[str, Any]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    described: dict[str, Any] = {"cores of the machine": os.cpu_count(), "cores this process may use": usable}
    try:
        import numba
        from threadpoolctl import threadpool_info

        import dpfl_theory.kernels.cpu  # noqa: F401  loads the BLAS that the kernels use

        described["Numba"] = numba.config.NUMBA_NUM_THREADS
        described.update(
            {f"{p['internal_api']} {p.get('version') or ''}".strip(): p["num_threads"] for p in threadpool_info()}
        )
    except ImportError as error:
        described["kernels"] = f"cannot be imported: {error}"
    return described


def _devices() -> dict[str, str]:
    try:
        from dpfl_theory.kernels import select
        from dpfl_theory.kernels.cuda import unavailable_reason

        reason = unavailable_reason()
        return {
            "cpu": select("cpu").description,
            "cuda": select("cuda").description if reason is None else f"not usable: {reason}",
            "auto": f"chooses {select('auto').description}",
        }
    except ImportError as error:
        return {"cpu": f"not usable: {error}"}
