"""Figures and tables of Hou et al. (2023), and what their scripts share."""
