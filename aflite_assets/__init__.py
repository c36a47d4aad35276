"""AFLite as Dagster assets: find and remove the shortcuts that make a labelled dataset look easier than its task.

Importing this package loads nothing else; import the package that you need (see CONTRIBUTING.md, "What is where").
"""

__version__ = "0.2.0"
