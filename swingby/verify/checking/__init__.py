"""Assumptions D.1 to D.5 at numbers: verdicts and margins, at a point and over a box."""
