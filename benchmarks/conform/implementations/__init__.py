"""Rounds in the usual styles of user code, all correct; `planted` adds faults."""
