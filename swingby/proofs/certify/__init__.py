"""Proofs about one run: balls along it, a certificate to file, and a checker of its own."""
