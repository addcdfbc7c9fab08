"""Fitting and measuring together: calibrate a device, fit and judge what was measured, check the installation."""
