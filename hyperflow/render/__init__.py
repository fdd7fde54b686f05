"""Objects to text, through Jinja."""
