"""Transformers of text: `Tokens`; and `Vocabulary`, which they look tokens up in."""

from __future__ import annotations

from fuel.transformers._tokens import Tokens
from fuel.utils.vocabulary import Vocabulary

__all__ = ["Tokens", "Vocabulary"]
