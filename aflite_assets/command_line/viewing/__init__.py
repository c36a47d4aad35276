"""Commands that show and compare reports that were published before."""
