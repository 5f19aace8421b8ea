"""Meshes that our own code builds: the everyday objects and the furniture."""
