"""Rounds as people write them, all correct; `planted` breaks them."""
