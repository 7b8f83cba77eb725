"""Arbitrary servers: what they may send, how it is played to our wires, and what must hold."""
