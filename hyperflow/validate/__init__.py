"""Round trip and cross-object laws."""
