"""Runs of the discrete maps and of the flow, with their events. Builds on theory."""
