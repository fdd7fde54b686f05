"""What the user asked: frozen records that are checked where text enters."""
