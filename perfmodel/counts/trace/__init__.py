"""Accesses written out one by one."""
