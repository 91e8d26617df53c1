"""shulgin2025: Smoothed Normalization for Efficient Distributed Private Optimization (2025)."""
