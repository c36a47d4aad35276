"""Encoders and evaluators, and the one trainer they share; nothing here knows where data or results are kept."""
