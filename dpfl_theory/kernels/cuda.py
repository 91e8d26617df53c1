"""The GPU engine: CuPy arrays, Philox noise and the clip-and-accumulate step as fused CUDA kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dpfl_theory.errors import EnvironmentFault
from dpfl_theory.kernels.array import ArrayEngine
from dpfl_theory.kernels.engine import Replicates

SOURCE = Path(__file__).with_name("cuda_kernels.cu")
_THREADS = 256


@cache
def unavailable_reason() -> str | None:
    """The reason why the GPU engine cannot be used here, or None when it can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install 'dpfl-theory[gpu]')"
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return f"CuPy finds no usable CUDA device ({error})"
    return None if count else "CuPy finds no CUDA device"


class CudaEngine(ArrayEngine):
    """CuPy arrays with fused kernels; raises EnvironmentFault where there is no GPU."""

    def __init__(self) -> None:
        reason = unavailable_reason()
        if reason is not None:
            raise EnvironmentFault(f"device 'cuda' cannot be used: {reason}; choose 'cpu' or 'auto'")
        import cupy

        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        super().__init__(cupy, "cuda", f"cuda, {properties['name'].decode()}, CuPy {cupy.__version__}")
        module = cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"))
        self._uniform = module.get_function("fill_uniform")
        self._normal = module.get_function("fill_normal")
        self._bounded = module.get_function("bounded_combine")

    def _address(self, replicates: Replicates, round_: int, stream: int, step: int) -> tuple[Any, ...]:
        u32 = self.xp.uint32
        words = (replicates.seed & 0xFFFFFFFF, replicates.seed >> 32, replicates.first, round_, step, stream)
        return tuple(u32(word) for word in words)

    def uniform(self, replicates: Replicates, round_: int, clients: int, stream: int, step: int = 0) -> Any:
        out = self.xp.empty((replicates.count, clients))
        u32 = self.xp.uint32
        sizes = (u32(replicates.count), u32(clients))
        grid = (-(-out.size // _THREADS),)
        self._uniform(grid, (_THREADS,), (out, *self._address(replicates, round_, stream, step), *sizes))
        return out

    def normal(
        self, replicates: Replicates, round_: int, clients: int, d: int, stream: int, step: int = 0, where: Any = None
    ) -> Any:
        out = self.xp.empty((clients, replicates.count, d))
        u32 = self.xp.uint32
        sizes = (u32(clients), u32(replicates.count), u32(d))
        grid = (-(-(clients * replicates.count * ((d + 1) // 2)) // _THREADS),)
        self._normal(grid, (_THREADS,), (out, *self._address(replicates, round_, stream, step), *sizes))
        return self._only(out, where)

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool) -> tuple[Any, Any]:
        xp = self.xp
        n, replicates, d = updates.shape
        out = xp.empty((replicates, d))
        norms = xp.empty((replicates, n))
        arrays = (xp.ascontiguousarray(updates), xp.ascontiguousarray(weights), xp.ascontiguousarray(threshold))
        i32 = xp.int32
        self._bounded(
            (replicates,), (_THREADS,), (*arrays, i32(normalise), out, norms, i32(n), i32(replicates), i32(d))
        )
        return out, norms
