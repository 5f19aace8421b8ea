"""`daxlab train` with a `dcem_match` whose read-out has no match term: r alone, no v ⊙ m̂ and no cosine."""
import sys
import jax.numpy as jnp
from daxlab.agents.dcem import DCEM
from daxlab.cli import main

def read(self, h, moment):
    r = self.aggregation(self._weights(h, moment), moment.found)
    of_r = self.latent_r.weight.reshape(len(r), -1, moment.latent.shape[-1])[:, : r.shape[1]]
    return jnp.einsum("nr,nre->e", r, of_r)

DCEM._read = read
main(sys.argv[1:])
