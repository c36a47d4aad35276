"""The papers' own tables, to stand beside a dataset's: a file per paper, numbers as printed; nothing of ours."""
