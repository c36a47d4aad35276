"""Tests which measure how often rules and small models find the right answer without reading the question."""
