"""The laboratory: sweeps, networks, diffusion models, ReLU networks, and the paper's figures."""
