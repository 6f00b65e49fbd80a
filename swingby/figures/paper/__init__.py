"""The figures: each module defines those of one kind as ``FIGURES``."""
