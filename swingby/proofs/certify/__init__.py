"""Proofs about a single run: balls along it, its events, and a certificate to file."""
