"""What a theorem consists of: expressions in symbols, and hypotheses."""
