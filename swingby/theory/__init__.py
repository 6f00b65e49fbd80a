"""What the paper says. Knows nothing of simulation, checking or printing."""
