"""Readers of files and live planes."""
