"""The CUDA kernels' source, compiled for the CPU by a C++ compiler: each CUDA thread of a block is a thread here."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from dpfl_theory.kernels.cuda import SOURCE

__all__ = ["Emulated", "compiled", "compiler"]

_BEFORE = r"""
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>
#include <pthread.h>
struct Index { unsigned x; };
static thread_local Index blockIdx, threadIdx;
static Index blockDim;
static pthread_barrier_t barrier;
static void __syncthreads() { pthread_barrier_wait(&barrier); }
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
#define __device__ static
#define __global__
#define __shared__ static
"""
_AFTER = r"""
template <class Kernel> static void launch(unsigned grid, unsigned block, Kernel kernel) {
    blockDim.x = block;
    for (unsigned b = 0; b < grid; ++b) {
        pthread_barrier_init(&barrier, nullptr, block);
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < block; ++t)
            threads.emplace_back([=] { blockIdx.x = b; threadIdx.x = t; kernel(); });
        for (auto& thread : threads) thread.join();
        pthread_barrier_destroy(&barrier);
    }
}
extern "C" void run_uniform(unsigned grid, unsigned block, double* out, u32 s0, u32 s1, u32 first, u32 round_, u32 step,
                            u32 stream, u32 replicates, u32 clients) {
    launch(grid, block, [=] { fill_uniform(out, s0, s1, first, round_, step, stream, replicates, clients); });
}
extern "C" void run_normal(unsigned grid, unsigned block, double* out, u32 s0, u32 s1, u32 first, u32 round_, u32 step,
                           u32 stream, u32 clients, u32 replicates, u32 d) {
    launch(grid, block, [=] { fill_normal(out, s0, s1, first, round_, step, stream, clients, replicates, d); });
}
extern "C" void run_bounded(unsigned grid, unsigned block, const double* updates, const double* weights,
                            const double* threshold, int normalise, double* out, double* norms, int n, int replicates,
                            int d) {
    launch(grid, block, [=] { bounded_combine(updates, weights, threshold, normalise, out, norms, n, replicates, d); });
}
extern "C" void run_philox(u32* counter, u32 k0, u32 k1) { philox(counter, k0, k1); }
"""


def compiler() -> str | None:
    """A C++ compiler, if there is one."""
    return next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)


def compiled(place: Path, change: tuple[str, str] = ("", "")) -> Emulated:
    """The kernels as functions, with one piece of their source exchanged for another one (once)."""
    source = SOURCE.read_text(encoding="utf-8")
    assert change[0] in source
    file, library = place / "kernels.cpp", place / "kernels.so"
    file.write_text(_BEFORE + source.replace(*change, 1) + _AFTER)
    found = compiler()
    assert found is not None
    options = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-pthread"]
    subprocess.run([found, *options, str(file), "-o", str(library)], check=True, capture_output=True)
    return Emulated(ctypes.CDLL(str(library)))


class Emulated:
    """The three kernels with the arguments that the engine gives them."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def philox(self, counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
        words = np.array(counter, dtype=np.uint32)
        self._library.run_philox(_at(words), ctypes.c_uint32(key[0]), ctypes.c_uint32(key[1]))
        return tuple(int(w) for w in words)

    def uniform(self, address: tuple[int, ...], replicates: int, clients: int, block: int) -> Any:
        out = np.empty((replicates, clients))
        grid = -(-out.size // block)
        self._library.run_uniform(grid, block, _at(out), *(ctypes.c_uint32(w) for w in (*address, replicates, clients)))
        return out

    def normal(self, address: tuple[int, ...], replicates: int, clients: int, d: int, block: int) -> Any:
        out = np.empty((clients, replicates, d))
        grid = -(-clients * replicates * ((d + 1) // 2) // block)
        self._library.run_normal(
            grid, block, _at(out), *(ctypes.c_uint32(w) for w in (*address, clients, replicates, d))
        )
        return out

    def bounded_combine(self, updates: Any, weights: Any, threshold: Any, normalise: bool, block: int) -> Any:
        n, replicates, d = updates.shape
        out, norms = np.empty((replicates, d)), np.empty((replicates, n))
        given = (_at(updates), _at(weights), _at(threshold), int(normalise))
        self._library.run_bounded(replicates, block, *given, _at(out), _at(norms), n, replicates, d)
        return out, norms


def _at(array: Any) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
