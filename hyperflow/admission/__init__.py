"""What the member and the plane would answer to a document."""
