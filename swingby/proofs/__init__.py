"""Proofs: lines of text as claims, their provers and checkers, audit, hunt and certified runs."""
