"""The numbered displays of the paper as claims, section by section."""
