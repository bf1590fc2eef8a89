"""Room for packs: processors and GPUs, as planning sees them. Knows neither Ray nor CUDA."""

from dataclasses import dataclass, replace

from orchestrator.cards import Card

MEMORY_SHARE = 0.8
"""Share of the available memory that packs may take."""
CONTEXT_BYTES = 700 * 2**20
"""Memory of a card that each process on it takes beside its arrays: CUDA's context, and the workspaces of its libraries."""
HOST_BYTES = 2 * 2**30
"""Memory of the host that a process with CUDA takes beside one without, its pinned plans included."""
FULL_CARD = 264
"""Networks that fill a card: two for each of an H200's 132 multiprocessors, so that one works while the other waits."""
_SHARES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Machine:
    """How many packs train at once on CPUs and the memory of one; the number of cards, and the memory of one."""

    slots: int
    bytes_per_pack: int
    cards: int = 0
    card_bytes: int = 0
    asked_share: float | None = None
    """Share of a card that the grid gives each pack; None: as much as the pack can use."""
    card: Card | None = None
    """One of the cards; they are taken to be alike."""

    @classmethod
    def of(cls, slots: int, at_once: int, room: float, cards: int, card: Card | None, asked: float | str) -> "Machine":
        """The machine whose `slots` share `room` bytes, `at_once` of which train; `asked` is the grid's `gpus_per_pack`."""
        if not cards or card is None:
            return cls(at_once, int(room / slots))
        memory = max(room - cards * HOST_BYTES, room / 2) / slots
        share = None if isinstance(asked, str) else asked
        return cls(at_once, int(memory), cards, int(MEMORY_SHARE * card.bytes), share, card)

    @property
    def throughput(self) -> dict[str, float]:
        """Packs' worth of work done at once on each kind of device. Packs that share a card share its time."""
        cards = self.cards // self.asked_share if self.asked_share and self.asked_share > 1 else self.cards
        return {"cpu": self.slots, **({"cuda": cards} if cards else {})}

    def bytes_of(self, device: str) -> int:
        """Memory that a pack may take on this kind of device."""
        return int(self.card_bytes * min(1.0, self.asked_share or 1.0)) if device == "cuda" else self.bytes_per_pack

    def share_of(self, part: float, n_bytes: int) -> float:
        """The share of a card for a pack that keeps this part of it busy: all of it, or 1/k where k such packs would not fill it
        and fit in its memory."""
        if self.asked_share:
            return self.asked_share
        return 1 / max((k for k in _SHARES if k * n_bytes <= self.card_bytes and k * part <= 1), default=1)

    def without_cards(self) -> "Machine":
        """The machine whose cards cannot be used."""
        return replace(self, cards=0, card_bytes=0, card=None)
