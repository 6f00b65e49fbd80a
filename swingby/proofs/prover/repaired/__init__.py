"""The steps of the repaired theorems: identities along the flow, and tests of steps by hand."""
