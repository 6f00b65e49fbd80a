"""The stage law: the flow that the steps follow, in coordinates in which a stage costs nothing."""
