"""Thousands of inputs for everything that reads: whatever comes, it is done or refused in one sentence, and in time."""
