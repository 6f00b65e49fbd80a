"""What the comparison of predicted and observed is made of."""
