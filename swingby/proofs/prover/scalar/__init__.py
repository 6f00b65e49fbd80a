"""Relations between numbers: certificates, z3, boxes in ball arithmetic, exact counterexamples."""
