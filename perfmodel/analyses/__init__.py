"""What bounds a kernel on a device, by Kim et al. (2012), chapter 2 and sections 4.1.3 and 4.2: numbers, not drawn."""
