"""How far weights and predictions may be off."""
