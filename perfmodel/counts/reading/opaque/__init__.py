"""What Loopy does not look into: C instructions, about which the user declares what they do."""
