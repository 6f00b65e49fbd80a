"""Margins of the assumptions as proved intervals, at a point and over a box of numbers."""
