"""What of a program is counted."""
