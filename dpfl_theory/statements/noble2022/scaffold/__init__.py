"""DP-SCAFFOLD: the lemmas of Appendix C, Corollary C.1 and Theorem C.1."""
