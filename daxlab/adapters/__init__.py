"""dm_env and gymnasium interfaces, and a server that speaks dm_env_rpc.

Each module needs its own optional package (``daxlab[dm]``, ``daxlab[gym]``, ``daxlab[rpc]``), so nothing is imported
here. For a seed they all play the same episodes: the first from ``jax.random.key(seed)``, each next one from the last
state's key.
"""
