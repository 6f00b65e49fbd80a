"""The stage-time law on many instances side by side; compiled."""
