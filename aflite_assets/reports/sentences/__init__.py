"""Sentences and cautions of the report. Numbers are computed in `analysis`, pages are rendered in `page`."""
