"""Figures and tables of Hou et al. (2023), and shared code of their scripts."""
