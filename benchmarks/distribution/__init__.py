"""Test the built wheel as a new user would: in fresh environments, outside the repository (`make dist-check`)."""
