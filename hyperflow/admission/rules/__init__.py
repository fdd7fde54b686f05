"""Webhook rules and risks, one module a subject, one named function a rule."""
