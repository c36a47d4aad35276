"""The report's tables as records; each module declares some of the tables. Tables are rendered in `page`."""
