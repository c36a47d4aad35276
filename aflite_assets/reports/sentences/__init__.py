"""The report's sentences and warnings. Scores are computed in `scores`, pages in `page`."""
