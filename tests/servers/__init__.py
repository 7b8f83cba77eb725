"""Servers that are trivial, or broken in one way each; every one is a program of its own."""
