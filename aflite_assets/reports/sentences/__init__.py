"""Sentences and cautions of the report. Numbers are computed in `analysis`, and pages are rendered in `page`."""
