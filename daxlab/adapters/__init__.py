"""dm_env and gymnasium interfaces."""
