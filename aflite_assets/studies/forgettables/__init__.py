"""The study of forgettable rows: train rows that weak models forget, and second training phases on them (EACL 2021)."""
