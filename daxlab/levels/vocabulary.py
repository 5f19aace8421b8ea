"""The words of all levels, as token ids. The list is fixed: weights trained today must read tomorrow's texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Int

from daxlab.assets.catalog import FURNITURE_NAMES, HELDOUT_OBJECTS, TRAIN_OBJECTS
from daxlab.errors import unknown

TEXT_LENGTH = 8
"""Tokens in the text channel; shorter texts end in padding (id 0)."""

NONSENSE = tuple(
    """
    dax blicket wug toma koba fep zav modi tulver gorp
    bosa manu regli kiv pabe lorp dofa zib nem tiz
    vash plonk snorf quil jaba reb yok habble glorp sarn
    fendle mipen posk wiso gazzer chatten rucle tinvo bem kreeb
    doyb vab nurp lim sib zeppo gub riffel pim cheem
    jop hux tam yimmer bindle coro dulo fosk geet hobb
    """.split()
)
"""Sixty made-up names, easy to say."""

_FUNCTION = tuple("this is a the pick up put on in near to of and with go find".split())
_CATEGORY = tuple(
    """
    armoire bag bed book bookcase bottle box bunk chair chest drawers coffee table computer floor lamp glass hammer
    keyboard loudspeaker microwave monitor mug piano plant printer rug soda can sofa stool vase wine
    """.split()
)

WORDS: tuple[str, ...] = tuple(
    dict.fromkeys(
        ("", *_FUNCTION, *NONSENSE, *sorted({*TRAIN_OBJECTS, *HELDOUT_OBJECTS, *FURNITURE_NAMES, *_CATEGORY}))
    )
)
"""Every word; a word's id is its place. Id 0 is padding."""

_ID = {word: i for i, word in enumerate(WORDS)}


def encode(text: str) -> Int[np.ndarray, " length"]:
    """Token ids of a text, padded."""
    ids = np.zeros(TEXT_LENGTH, np.int32)
    for i, word in enumerate(text.lower().split()):
        if word not in _ID:
            raise unknown("word", word, WORDS[1:])
        ids[i] = _ID[word]
    return ids


def encode_words(words: Iterable[str]) -> Int[np.ndarray, " n"]:
    """One id for each word."""
    return np.array([encode(word)[0] for word in words], np.int32)


def decode(ids: Sequence[int] | Int[np.ndarray, " length"]) -> str:
    """The readable text: ``"This is a dax"``."""
    text = " ".join(WORDS[int(i)] for i in ids if int(i) != 0)
    return text[:1].upper() + text[1:]
