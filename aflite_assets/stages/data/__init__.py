"""Stages of the group `data`: all rows, the challenge sets, the scan for cues, and the sample of train rows."""
