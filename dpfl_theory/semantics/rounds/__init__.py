"""Rounds written in the operations of a world, of algorithms without a description.

scaffold        noble2022 Algorithm 1: one round of DP-SCAFFOLD
error_feedback  shulgin2025 Algorithm 1: one round of Clip21 and alpha-NormEC
"""
