"""What happens: the discrete maps and the flow, run. Builds on theory."""
