"""Shulgin, Khirirat, Richtárik: Smoothed Normalization for Efficient Distributed Private Optimization (2025)."""
