"""How the distributed work grows: measured on this machine's cores, computed for clusters that are not at hand."""
