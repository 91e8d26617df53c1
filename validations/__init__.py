"""One script for each reproduced figure or table, and for each theorem whose bound is plotted against measurements."""
