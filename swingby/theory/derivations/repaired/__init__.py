"""The proofs of the repaired theorems, and our own proof of Lemma D.2, as claims."""
