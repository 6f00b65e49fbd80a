"""Claims about whole trajectories: instances, runs in balls, and violations of a claim."""
