"""Terms of the study in the page's glossary."""

PART = {
    "Forgettable": "A train row that a weak model unlearned at least once (right in one epoch, wrong in a later one) "
    "or never learned."
}
