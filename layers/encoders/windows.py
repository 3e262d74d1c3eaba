"""Texts as windows of token numbers, each with the place of its tokens in the text, as a recipe says. Needs tokenizers."""
from __future__ import annotations

import os

from byref.layers.encoders.recipe import Recipe
from byref.proxy.contracts import dataclass
from byref.proxy.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of text that a model reads at once. text: its number. ids: all tokens. seen: how many of them the model attends to.

    rows: those that have a vector, with spans and names.
    """

    text: int
    ids: Sequence[int]
    seen: int
    rows: Sequence[int]
    spans: Sequence[tuple[int, int]]
    names: Sequence[str]


class Windows:
    """What turns texts into windows. Raises `Invalid` for a tokenizer that is missing, damaged or of another kind."""

    def __init__(self, folder: str, recipe: Recipe) -> None:
        from tokenizers import Tokenizer
        place = os.path.join(folder, "tokenizer.json")
        try:
            with open(place, "rb") as file:
                tokenizer: Tokenizer = Tokenizer.from_buffer(file.read())
        except FileNotFoundError:
            raise Invalid(f"the model in {folder} has no tokenizer.json; models without one cannot be used") from None
        except Exception as fault:  # tokenizers raises plain ones
            raise Invalid(f"tokenizer.json in {folder} is damaged ({fault}): fetch the model again") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer, self._recipe = tokenizer, recipe
        self._head, self._tail = self._around()
        self._skipped = frozenset(number for number in map(tokenizer.token_to_id, recipe.skipped) if number is not None)
        self._mask = next((number for number in map(tokenizer.token_to_id, ("[MASK]", "<mask>")) if number is not None), None)
        if recipe.fill and self._mask is None:
            raise Invalid(f"the model in {folder} fills queries up with mask tokens, and its tokenizer has none")
        self.padding = next((number for number in map(tokenizer.token_to_id, ("[PAD]", "<pad>")) if number is not None), 0)

    def query(self, text: str) -> list[Window]:
        """One window or, of a text that is too long for one, several. Of a model for late interaction all tokens have vectors."""
        recipe = self._recipe
        made = self._cut(0, text, recipe.prefixes[0], frozenset())
        if not recipe.late:
            return made
        return [self._whole(window, recipe.fill if len(made) == 1 else 0) for window in made]

    def documents(self, texts: Sequence[str]) -> list[Window]:
        return [window for number, text in enumerate(texts) for window in self._cut(number, text, self._recipe.prefixes[1], self._skipped)]

    def pooled(self, texts: Sequence[str], query: bool) -> list[Window]:
        recipe = self._recipe
        prefix = (recipe.prefixes if recipe.late else recipe.prompts)[not query]
        return [window for number, text in enumerate(texts) for window in self._cut(number, text, prefix, frozenset())]

    def _around(self) -> tuple[list[int], list[int]]:
        """The tokens that the model has before and behind each text."""
        found = self._tokenizer.encode("a")
        inner = [place for place, special in enumerate(found.special_tokens_mask) if not special]
        if not inner:
            return [], []
        return found.ids[:inner[0]], found.ids[inner[-1] + 1:]

    def _cut(self, number: int, text: str, prefix: str, skipped: frozenset[int]) -> list[Window]:
        """Windows of one text, as even as they can be: what stands at a seam then has about as much around it on either side."""
        before, ids, spans = self._tokens(text, prefix)
        if not ids:
            return []
        head = [*self._head, *before]
        room = max(1, self._recipe.window - len(head) - len(self._tail))
        pieces = -(-len(ids) // room)
        made = []
        for piece in range(pieces):
            start, end = len(ids) * piece // pieces, len(ids) * (piece + 1) // pieces
            rows = [at for at in range(start, end) if ids[at] not in skipped and spans[at][0] < spans[at][1]]
            inside = [*head, *ids[start:end], *self._tail]
            made.append(Window(number, inside, len(inside), [len(head) + at - start for at in rows], [spans[at] for at in rows],
                               [text[spans[at][0]:spans[at][1]] for at in rows]))
        return made

    def _tokens(self, text: str, prefix: str) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Tokens of the prefix, and those of the text with their spans in it."""
        tokenizer = self._tokenizer
        marker: int | None = None
        if prefix and self._recipe.inserted:
            marker = next((one for one in map(tokenizer.token_to_id, (prefix, prefix.strip())) if one is not None), None)
        before = prefix if marker is None else ""
        found = tokenizer.encode(before + (_lower(text) if self._recipe.lower else text), add_special_tokens=False)
        ids, offsets, skip = found.ids, found.offsets, len(before)
        own = sum(1 for start, end in offsets if end <= skip) if skip else 0
        spans = [_trimmed(text, max(0, start - skip), end - skip) for start, end in offsets[own:]]
        return ([] if marker is None else [marker]) + ids[:own], ids[own:], spans

    def _whole(self, window: Window, fill: int) -> Window:
        """The window with a row for every token, filled up with mask tokens."""
        places = dict(zip(window.rows, zip(window.spans, window.names, strict=True), strict=True))
        masks = [self._mask or 0] * max(0, fill - len(window.ids))
        ids = [*window.ids, *masks]
        rows = [places.get(at) or ((0, 0), str(self._tokenizer.id_to_token(ids[at]))) for at in range(len(ids))]
        return Window(window.text, ids, len(ids) if self._recipe.seen else window.seen, range(len(ids)),
                      [span for span, _ in rows], [name for _, name in rows])


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the blanks that some tokenizers count to a token."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _lower(text: str) -> str:
    """In lower case, every character where it was."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
