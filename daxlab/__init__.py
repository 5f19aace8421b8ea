"""daxlab: learn a word from one look, in a 3D room.

An open, fast implementation of *Grounded Language Learning Fast and Slow* (Hill et al., ICLR 2021).
"""

__version__ = "0.1.0"
