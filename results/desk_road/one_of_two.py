"""One of the two things that `dcem_match` has and the paper's `dcem` has not.

`python results/desk_road/one_of_two.py WHICH SEEDS [R]` trains the desk's condition of Table 1, WHICH of

query   the paper's DCEM, whose query is l + f(v, l, h) instead of f(v, l, h);
match   the paper's query f(v, l, h), read out as `dcem_match` does: with v ⊙ m̂ and cos(v, m̂);

R with reconstruction. All seeds in one program; results under runs/one_of_two.
"""
import os
import sys
from pathlib import Path

import jax

from daxlab.agents.config import change
from daxlab.agents.dcem import DCEM
from daxlab.agents.layers import Linear
from daxlab.experiments import grid, ledger
from daxlab.experiments.paper import experiment
from daxlab.experiments.scales import scale

which, seeds, again = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["R"]
prepare, build = DCEM._prepare, DCEM.__init__


def prepare_other(self, x):
    moment, l = prepare(self, x), x.l[..., None, :]
    return moment._replace(query=moment.query + l if which == "query" else moment.query - l)


def build_other(self, key, config):
    build(self, key, config)
    assert self.match == (which == "match") and self.asks_h
    if which == "match":
        keys = jax.random.split(key, 8)
        l, v, heads = config.language.embedding, config.vision.embedding, config.memory.heads
        self.query_x = Linear(keys[0], v + l, heads * l)
        self.query_h = Linear(keys[1], config.lstm, heads * l, bias=False)


DCEM._prepare, DCEM.__init__ = prepare_other, build_other
core = {"query": "dcem", "match": "dcem_match"}[which]
cells = ledger.cells(scale("desk"), experiment("architectures"), 1)
config = next(cell.config for cell in cells if cell.config.agent.core == core)
config = change(config, agent__memory__query_gain=1.0, agent__reconstruction=again, **eval(os.environ.get("ALSO", "{}")))
place = Path("runs/one_of_two") / (which + "-R" * again)
grid.run_together([
    ledger.Cell("desk", "", seed, change(config, seed=seed), (), 500, place, place / "work") for seed in range(seeds)
])
