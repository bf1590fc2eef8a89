"""Room for packs: processors and GPUs, as planning sees them. Knows neither Ray nor CUDA."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

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


class Node(NamedTuple):
    """One machine of a cluster: how many packs its cores could train at once, the memory for all of them, and its cards."""

    slots: int
    bytes: int
    cards: int = 0


@dataclass(frozen=True)
class Machine:
    """How many packs train at once on CPUs and the memory of one; the number of cards, and the memory of one.

    A pack of one network that needs more memory takes that of several packs: then fewer train at once.
    """

    slots: int
    bytes_per_pack: int
    cards: int = 0
    card_bytes: int = 0
    asked_share: float | None = None
    """Share of a card that the grid gives each pack; None: as much as the pack can use."""
    card: Card | None = None
    """One of the cards; they are taken to be alike."""
    nodes: tuple[Node, ...] = ()
    """The machines of a cluster, each with the memory that its packs on CPUs may take together; none: one, of `slots` packs."""

    @classmethod
    def of(cls, nodes: Sequence[Node], at_once: int | None, card: Card | None, asked: float | str) -> "Machine":
        """The room on these nodes, where packs may take MEMORY_SHARE of the memory. At most `at_once` packs train; `asked` is the
        grid's `gpus_per_pack`."""
        cards = sum(node.cards for node in nodes) if card else 0
        share = None if isinstance(asked, str) or not cards else asked
        rooms = []
        for node in nodes:
            room = MEMORY_SHARE * node.bytes
            if card:
                room = max(room - ceil(node.cards / min(1.0, share or 1.0)) * HOST_BYTES, room / 2)
            rooms.append(node._replace(bytes=int(room)))
        card_bytes = int(MEMORY_SHARE * card.bytes) if card and cards else 0
        whole = cls(at_once or sum(node.slots for node in nodes), 0, cards, card_bytes, share, card if cards else None)
        return whole._divided(rooms)

    def _divided(self, nodes: Sequence[Node]) -> "Machine":
        """The machine whose packs share the memory of these nodes, equally on each. All packs may come to lie on one node."""
        nodes = tuple(node for node in nodes if node.slots)
        slots = max(1, min(self.slots, sum(node.slots for node in nodes)))
        each = max(1, min(node.bytes // min(node.slots, slots) for node in nodes))
        return replace(self, slots=slots, bytes_per_pack=each, nodes=nodes)

    def with_room_for(self, n_bytes: int) -> "Machine":
        """The machine that trains fewer packs at once, so that each may take this much memory; this one where no node has it."""
        fewer = [node._replace(slots=min(node.slots, node.bytes // n_bytes)) for node in self.nodes]
        return self if n_bytes <= self.bytes_per_pack or not any(node.slots for node in fewer) else self._divided(fewer)

    @property
    def largest_pack(self) -> int:
        """Memory that a pack may take on CPUs if no other one trains on its node."""
        return max((node.bytes for node in self.nodes), default=self.slots * self.bytes_per_pack)

    def places(self, n_bytes: int) -> int:
        """How many packs' memory a pack of this size takes on a CPU, at most that of a node."""
        return max(1, ceil(min(n_bytes, self.largest_pack) / self.bytes_per_pack))

    def reserved(self, n_bytes: int) -> int:
        """Memory that is kept for a pack of this size on a CPU: whole parts of a node, which has one for each pack that its cores
        could train. So packs keep few distinct amounts, and a small one as little however few train at once."""
        part = min((node.bytes // node.slots for node in self.nodes), default=self.bytes_per_pack)
        return min(max(1, ceil(n_bytes / part)) * part, self.largest_pack)

    @property
    def throughput(self) -> dict[str, float]:
        """Packs' worth of work done at once on each kind of device. Packs that share a card share its time."""
        cards = self.cards // self.asked_share if self.asked_share and self.asked_share > 1 else self.cards
        return {"cpu": self.slots, **({"cuda": cards} if cards else {})}

    def most_bytes(self, device: str) -> int:
        """Memory that a pack of one network may take on this kind of device, beside fewer packs if need be."""
        return self.bytes_of(device) if device == "cuda" else self.largest_pack

    def bytes_of(self, device: str) -> int:
        """Memory that each of the packs may take on this kind of device if as many train as can."""
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
