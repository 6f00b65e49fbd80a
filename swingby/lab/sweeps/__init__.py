"""Sweeps: a grid of points, measured by many workers, its rows in a folder."""
