"""AFLite as Dagster assets: find and remove the shortcuts that make a labelled dataset look easier than its task.

Importing this package does not import its subpackages; import the one that you need (see CONTRIBUTING.md, "What is
where").
"""

__version__ = "0.2.0"
