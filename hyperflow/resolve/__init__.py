"""Every default is decided here."""
