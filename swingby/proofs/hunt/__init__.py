"""The hunt for counterexamples: instances drawn, followed, brought closer, shrunk, confirmed."""
