"""The report's tables as records. Each module declares some of the tables. The package `page` renders the tables."""
