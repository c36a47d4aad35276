"""The study of a small sample that is enough: train rows are sampled until a model stops improving (SustaiNLP 2020)."""
