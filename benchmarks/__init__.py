"""What the package's runs cost beside batched NumPy and JAX: ``python -m benchmarks`` (see `benchmarks.__main__`)."""
