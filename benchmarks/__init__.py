"""Benchmarks of the package's runs against batched NumPy and JAX: ``python -m benchmarks`` (see
`benchmarks.__main__`)."""
