"""Figures and tables of Shulgin et al. (2025), and shared code of their scripts."""
