"""Statistics of the scan: halves of the rows, effects and tests of rules, and which cues can be found. No words."""
