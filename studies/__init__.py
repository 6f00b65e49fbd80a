"""Experiments that were done once: their plans, their records, and how they are run again."""
