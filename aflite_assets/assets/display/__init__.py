"""What Dagster's pages show of results: columns, numbers, pictures, links. Computes no results, defines no assets."""
