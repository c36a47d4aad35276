"""Differences between trainings on the same test rows, with intervals and verdicts. Rules on them: `rules`."""
