"""Figures and tables of Shulgin et al. (2025), and what their scripts share."""
