"""What is the target language's and not Loopy's: C instructions, vector types, structures."""
