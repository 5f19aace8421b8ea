"""V-trace, losses, the training loop, checkpoints."""
