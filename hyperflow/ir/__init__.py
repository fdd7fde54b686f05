"""What passes hand on: frozen, keyword-only dataclasses, each printable as JSON."""
