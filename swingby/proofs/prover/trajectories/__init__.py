"""Claims about whole trajectories: candidates, runs in balls, and where a claim fails."""
