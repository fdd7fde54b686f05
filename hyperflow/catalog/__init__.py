"""Facts with source and date: devices, models, versions of targets, error codes. Data files beside this module."""
