"""The theory of the paper and our additions. Knows nothing of simulation, checks or printing."""
