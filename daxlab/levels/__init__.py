"""Phases, names, instructions, rewards, and the registry. Knows nothing of pixels or networks."""
