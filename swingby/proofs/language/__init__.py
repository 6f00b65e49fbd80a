"""The language of proofs: claims as objects, proof files, and formulas read and printed."""
