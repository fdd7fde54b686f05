"""The split, the placement and the search over degrees."""
