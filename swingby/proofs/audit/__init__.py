"""The audit of a proof: verdicts and their cache, records, ledger, corrections and exports."""
