"""Many trajectories: a grid of points, measured by many workers, kept in one file."""
