"""Vision, language, the memory cores, reconstruction, policy heads, novelty."""
