"""Finite sums: rules that give facts of them, and counterexamples with few terms."""
