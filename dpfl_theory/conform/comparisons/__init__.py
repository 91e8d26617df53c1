"""Comparisons of paths, noise, samples, neighbouring data sets and cohorts, and the findings from them."""
