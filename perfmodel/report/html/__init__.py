"""The report of a device as one HTML file, which needs no server and no other file."""
