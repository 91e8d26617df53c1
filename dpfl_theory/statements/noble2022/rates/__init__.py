"""Theorem 4.2: utility where privacy is paid for."""
