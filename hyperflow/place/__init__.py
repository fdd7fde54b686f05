"""Offline node placement on HyperNode trees."""
