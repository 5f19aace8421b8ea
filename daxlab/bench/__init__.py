"""How fast it is, as JSON. No test looks at a clock; this does."""
