"""The reading of Loopy kernels; no other folder looks into Loopy's intermediate representation.

Input: a Loopy translation unit. Output: the program that its generated code executes.
"""
