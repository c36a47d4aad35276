"""The papers' own tables, to stand beside a dataset's: numbers as printed, and their reader; nothing of ours."""
