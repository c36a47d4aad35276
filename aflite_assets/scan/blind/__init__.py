"""How often the right answer of a question is found without reading the question, by rules and by small models."""
