"""The verb `compile`."""
