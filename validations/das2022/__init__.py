"""Figures and tables of Das et al. (2022), and shared code of their scripts."""
