"""Client of a live plane."""
