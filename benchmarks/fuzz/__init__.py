"""Fuzz tests of every parser with thousands of inputs: each input is processed or refused in one sentence, and in
time."""
