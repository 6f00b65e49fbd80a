"""The explorer: a page of the browser that runs, predicts and checks while numbers are moved."""
