"""Many small trajectories at once: one trajectory per lane of the vector unit."""
