"""dm_env and gymnasium interfaces.

Each module needs its own optional package (``daxlab[dm]``, ``daxlab[gym]``), so nothing is imported here. For a
seed they all play the same episodes: the first from ``jax.random.key(seed)``, each next one from the last state's key.
"""
