"""Figures and tables of Zhang et al. (2021), and what their scripts share."""
