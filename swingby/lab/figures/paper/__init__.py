"""The figures: each module defines ``FIGURES``, one figure or those of one kind."""
