"""What models compute from counts and facts."""
