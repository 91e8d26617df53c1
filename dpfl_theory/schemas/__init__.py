"""Validation of documents: tables of keys, and a sentence for each kind of fault."""
