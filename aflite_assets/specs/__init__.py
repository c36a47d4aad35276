"""Pydantic models of a dataset's YAML file, and a registry of the YAML files. No module of this package reads a
dataset's rows.
"""
