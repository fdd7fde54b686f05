"""One reader for each kind of source; each gives facts and findings, none decides for the fleet."""
