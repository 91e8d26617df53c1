"""Shulgin, Khirirat, Richtárik: Smoothed Normalization for Efficient Distributed Private Optimization (2025).

Read: the text with Appendices A to I, in a copy that bears neither date nor version number and has lost its
displayed formulas.
"""
