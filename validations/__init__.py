"""One script for each figure or table that is redone, or theorem whose bound is plotted against reality."""
