"""Counter-based random numbers: Philox4x32-10, addressed instead of advanced.

Every number is a pure function of its address ``(seed, lane, round, client, step, stream, index)``, so a run
gives the same noise for any batch of lanes, number of threads, worker or device, and two algorithms that use
the same addresses share their noise (common random numbers).

Addresses are mapped in two Philox calls. The first enciphers ``(lane, client, step, stream)`` under the key
``seed``; because Philox is a bijection of its counter, different addresses get different 128-bit names. The
second uses two words of that name as key and the other two, with ``(block, round)``, as counter. Within one
seed no (key, counter) pair is ever used twice.

A block of four 32-bit words gives two 53-bit uniforms in (0, 1), or two normals by Box-Muller.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

__all__ = [
    "address_name",
    "fill_names",
    "fill_normal",
    "fill_normal_of",
    "fill_subsets",
    "fill_uniform",
    "normals",
    "philox4x32",
    "uniform_pair",
]

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)
_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_11 = np.uint64(11)


@njit(cache=True, nogil=True)
def philox4x32(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Ten rounds of Philox4x32 on counter ``(c0, c1, c2, c3)`` under key ``(k0, k1)``; all words are 32 bits wide.

    Returns four uniformly distributed 32-bit words (as uint64). Known-answer vectors are in the tests.
    """
    for _ in range(10):
        p0 = _M0 * c0
        p1 = _M1 * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _MASK, (p0 >> _32) ^ c3 ^ k1, p0 & _MASK
        k0 = (k0 + _W0) & _MASK
        k1 = (k1 + _W1) & _MASK
    return c0, c1, c2, c3


@njit(cache=True, nogil=True)
def _unit(high: np.uint64, low: np.uint64) -> float:
    """A uniform in (0, 1] from 64 random bits: the middle of one of 2^53 equal cells, rounded: never 0, and 1 with
    probability 2^-53."""
    bits = ((high << _32) | low) >> _11
    return (float(bits) + 0.5) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def address_name(seed: np.uint64, lane: np.uint64, client: np.uint64, step: np.uint64, stream: np.uint64) -> Any:
    """The first call: the name of an address, four words; all of its blocks share it."""
    return philox4x32(lane, client, step, stream, seed & _MASK, seed >> _32)


@njit(cache=True, nogil=True)
def uniform_pair(name: Any, round_: np.uint64, block: np.uint64) -> tuple[float, float]:
    """The second call: two uniforms of one block."""
    w0, w1, w2, w3 = philox4x32(block, round_, name[2], name[3], name[0], name[1])
    return _unit(w0, w1), _unit(w2, w3)


@njit(cache=True, nogil=True)
def normals(out: Any, name: Any, round_: np.uint64) -> None:
    """Fill a vector with normals; coordinates 2b and 2b+1 come from block b."""
    coordinates = len(out)
    for block in range((coordinates + 1) // 2):
        u, v = uniform_pair(name, round_, np.uint64(block))
        radius = math.sqrt(-2.0 * math.log(u))
        angle = 2.0 * math.pi * v
        out[2 * block] = radius * math.cos(angle)
        if 2 * block + 1 < coordinates:
            out[2 * block + 1] = radius * math.sin(angle)


@njit(cache=True, nogil=True)
def fill_names(out: Any, by_client: bool, lanes: int, seed: int, first_lane: int, step: int, stream: int) -> None:
    """Fill ``out`` (clients * lanes, 4) with the names of all addresses, which are the same in every round: those of
    one client side by side, or else those of one lane."""
    clients = out.shape[0] // lanes
    for job in range(out.shape[0]):
        i, s = (job // lanes, job % lanes) if by_client else (job % clients, job // clients)
        w0, w1, w2, w3 = address_name(
            np.uint64(seed), np.uint64(first_lane + s), np.uint64(i), np.uint64(step), np.uint64(stream)
        )
        out[job, 0], out[job, 1], out[job, 2], out[job, 3] = w0, w1, w2, w3


@njit(cache=True, nogil=True)
def fill_uniform(out: Any, seed: int, first_lane: int, round_: int, step: int, stream: int) -> None:
    """Fill ``out`` (lanes, clients) with uniforms in (0, 1); entry (s, i) has the address of lane first_lane + s,
    client i."""
    lanes, clients = out.shape
    for s in range(lanes):
        for i in range(clients):
            name = address_name(
                np.uint64(seed), np.uint64(first_lane + s), np.uint64(i), np.uint64(step), np.uint64(stream)
            )
            out[s, i] = uniform_pair(name, np.uint64(round_), np.uint64(0))[0]


@njit(cache=True, nogil=True)
def fill_normal(out: Any, seed: int, first_lane: int, round_: int, step: int, stream: int) -> None:
    """Fill ``out`` (clients, lanes, coordinates) with standard normals; coordinates 2b and 2b+1 come from block b."""
    clients, lanes, _ = out.shape
    for job in range(clients * lanes):
        i = job // lanes
        s = job % lanes
        name = address_name(
            np.uint64(seed), np.uint64(first_lane + s), np.uint64(i), np.uint64(step), np.uint64(stream)
        )
        normals(out[i, s], name, np.uint64(round_))


@njit(cache=True, nogil=True)
def fill_normal_of(out: Any, clients: Any, seed: int, first_lane: int, round_: int, step: int, stream: int) -> None:
    """Fill ``out`` (A, lanes, coordinates) with the normals that `fill_normal` gives the clients (A, lanes)."""
    slots, lanes, _ = out.shape
    for job in range(slots * lanes):
        a = job // lanes
        s = job % lanes
        i = np.uint64(clients[a, s])
        name = address_name(np.uint64(seed), np.uint64(first_lane + s), i, np.uint64(step), np.uint64(stream))
        normals(out[a, s], name, np.uint64(round_))


@njit(cache=True, nogil=True)
def fill_subsets(
    out: Any, clients: Any, sizes: Any, counts: Any, seed: int, first_lane: int, round_: int, step: int, stream: int
) -> None:
    """Fill ``out`` (A, lanes, b) with uniform subsets without replacement, in ascending order, then -1.

    Client i = clients[a, s] gets ``counts[i]`` of the numbers 0..sizes[i]-1: those with the smallest keys, where record
    j's key is a uniform of block j // 2. A subset depends on its address alone.
    """
    slots, lanes, _ = out.shape
    for job in range(slots * lanes):
        a = job // lanes
        s = job % lanes
        i = clients[a, s]
        size = sizes[i]
        count = counts[i]
        chosen = out[a, s]
        chosen[:] = -1
        if count >= size:
            for j in range(size):
                chosen[j] = j
        elif count > 0:
            name = address_name(
                np.uint64(seed), np.uint64(first_lane + s), np.uint64(i), np.uint64(step), np.uint64(stream)
            )
            keys = np.empty(size + 1)
            for block in range((size + 1) // 2):
                u, v = uniform_pair(name, np.uint64(round_), np.uint64(block))
                keys[2 * block] = u
                keys[2 * block + 1] = v
            bound = np.partition(keys[:size], count - 1)[count - 1]
            found = 0
            for j in range(size):
                if keys[j] <= bound and found < count:
                    chosen[found] = j
                    found += 1
