"""The theory judged by courses of diffusion models: predictions, readings, rules, verdicts."""
