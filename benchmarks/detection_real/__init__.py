"""Cues planted into real data, and how often they are named. Made-up data are in `detection_kinds`."""
