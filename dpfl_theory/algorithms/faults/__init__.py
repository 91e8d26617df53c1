"""Catalogue of known mistakes: parts of rounds, replaced, by the kind of round that they occur in."""
