"""The language of model expressions."""
