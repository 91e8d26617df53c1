"""Streams of the counter-based noise: one number for each purpose, so that no two draws of a round share an address."""

NOISE = 0
"""Noise that a client adds to its message."""
SERVER_NOISE = 1
"""Noise on the average; per-client noise that only enters the average is drawn here too (exact in distribution)."""
COHORT = 2
"""Which clients take part."""
COIN = 3
"""A communication coin, as in ScaffNew."""
GRADIENT = 4
"""The error of a stochastic gradient, where it is simulated by adding noise of a known variance."""
RECORDS = 5
"""Which of a client's records a local step uses."""
