"""The repaired edition: hypotheses that everyday numbers meet, and the theorems behind it."""

from swingby.theory.repaired.edition import STATEMENTS, RepairedFindings, findings, largest_omega

__all__ = ["STATEMENTS", "RepairedFindings", "findings", "largest_omega"]
