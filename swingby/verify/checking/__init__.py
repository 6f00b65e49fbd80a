"""D.1 to D.5 at numbers: whether constants exist, each margin, at a point and over a box."""
