"""Fitting and measuring brought together."""
