"""Plan to objects."""
