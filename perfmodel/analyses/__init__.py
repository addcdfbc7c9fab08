"""Analyses of a kernel on a device that give no seconds of their own: Kim et al. 2012, section 4.2."""
