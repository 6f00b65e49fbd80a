"""The comparison of predicted and observed: its result, and trajectories of a user."""
