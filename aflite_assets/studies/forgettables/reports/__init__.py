"""The study in the report: tables, figures, sentences and sections of the page."""
