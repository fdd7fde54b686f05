"""A compiled bundle as local processes."""
