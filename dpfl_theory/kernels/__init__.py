"""Numerical engines: Numba on the CPU, CuPy on a GPU, one interface (`dpfl_theory.kernels.engine.Engine`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfl_theory.errors import InputError

if TYPE_CHECKING:
    from dpfl_theory.kernels.engine import Engine

__all__ = ["DEVICES", "select"]

DEVICES = ("auto", "cpu", "cuda")


def select(device: str = "auto", sparse: bool = False) -> Engine:
    """The engine for ``device``: ``cpu``, ``cuda`` (an error where there is no GPU), or ``auto``.

    ``auto`` takes the GPU where there is a usable one and the CPU otherwise. The engine's ``description`` names the
    choice and is recorded in every run. There is no silent fallback. sparse: whether records are CSR, which only the
    CPU supports: ``auto`` chooses it, and ``cuda`` is an error.

    >>> select("cpu").name
    'cpu'
    """
    if device not in DEVICES:
        raise InputError(f"`device` is {device!r}: choose one of {', '.join(DEVICES)}")
    if sparse and device == "cuda":
        from dpfl_theory.kernels.engine import ONLY_DENSE

        raise InputError(ONLY_DENSE)
    if device != "cpu" and not sparse:
        from dpfl_theory.kernels.cuda import CudaEngine, unavailable_reason

        if device == "cuda" or unavailable_reason() is None:
            return CudaEngine()
    from dpfl_theory.kernels.cpu import CpuEngine

    return CpuEngine()
