"""Figures and tables of Noble et al. (2022), and shared code of their scripts."""
