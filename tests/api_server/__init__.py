"""An API server on the loopback for tests: the manners of a real one, as recorded, without a cluster."""
