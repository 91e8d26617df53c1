"""Figures and tables of Zhang et al. (2021), and shared code of their scripts."""
