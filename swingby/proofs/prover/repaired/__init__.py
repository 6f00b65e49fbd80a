"""The steps of the repaired theorems: identities along the flow, and tests of what is by hand."""
