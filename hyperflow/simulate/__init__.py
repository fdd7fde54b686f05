"""Pipeline schedules and their timelines."""
