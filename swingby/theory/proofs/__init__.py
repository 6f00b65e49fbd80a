"""Proofs as text files: their grammar, and the ones that come with the package."""
