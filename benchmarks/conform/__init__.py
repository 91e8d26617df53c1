"""Conformance, in full: every planted fault, and many runs of correct rounds."""
