"""Decorators that only collect."""
