"""The report's tables as records. Each module declares some of the tables; tables are rendered in `page`."""
