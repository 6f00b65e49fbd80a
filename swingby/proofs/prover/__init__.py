"""Strategies that prove or refute a claim, by what the claim is about."""
