"""Pydantic models of a dataset's YAML file, and a registry of the YAML files. This package opens no data."""
