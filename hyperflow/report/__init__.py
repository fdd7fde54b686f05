"""Tables, timelines and pages."""
