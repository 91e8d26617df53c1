"""Figures and tables of Das et al. (2022), and what their scripts share."""
