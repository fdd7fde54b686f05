"""One small file per group of model families; `FAMILIES` in registry.py maps a model_type to its reader."""
