"""Figures and tables of Noble et al. (2022), and what their scripts share."""
