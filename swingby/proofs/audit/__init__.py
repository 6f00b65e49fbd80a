"""What an audit returns: its records, what stands, every output, and the corrections."""
