"""What everything else stands on and nobody outside uses: results kept for the process, locks, parsing, vocabulary."""
