"""Arithmetic of time, memory and traffic; each formula cites its source."""
