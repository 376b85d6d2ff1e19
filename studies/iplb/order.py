"""How many datagrams of real stacks were overtaken by later ones of their flows."""

import stacks
from blocks import table


class Order:
    """Datagrams that arrived, and those of them that a later one of their flow had overtaken, by method."""

    def __init__(self, methods):
        self.of = {method: [0, 0] for method in methods}

    def add(self, method, attempt):
        """What a run's receivers counted."""
        for flow in stacks.samples(attempt, "flows"):
            self.of[method][0] += int(flow["received"])
            self.of[method][1] += int(flow["reordered"])

    def told(self):
        rows = [[method, f"{arrived:,}", f"{late:,}"] for method, (arrived, late) in self.of.items()]
        return table(["on real stacks", "datagrams that arrived", "of them overtaken"], rows)
