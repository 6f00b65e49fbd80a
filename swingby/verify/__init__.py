"""Does it hold: assumptions checked, stages predicted, predicted against observed."""
