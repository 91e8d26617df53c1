"""Tries the built wheel as a stranger would: in fresh environments, outside of the repository (`make dist-check`)."""
