"""Identities between matrices and between expectations: words in general, entries in each case."""
