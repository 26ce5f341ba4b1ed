"""What datum-compare and bench-diff share: statistics, verdicts, figures, the page, and running jobs."""
