"""Philox4x32-10 with Python's whole numbers."""

from __future__ import annotations

WORD = 0xFFFFFFFF


def cipher(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> list[int]:
    """Four words of 32 bits from a counter and a key."""
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & WORD, (p0 >> 32) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return [c0, c1, c2, c3]
