"""Cues planted into real data, and how often the scan and other tools name them. Made-up data are in `detection_kinds`."""
