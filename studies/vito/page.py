"""What the study says: blocks of Markdown, pictures, and figures that must be sane."""

import os

import blocks
import drawing
import machine
from blocks import fenced
from figures import Figures

NAME = "vito"

# How far beside its bar a figure of a small study may lie: its processors may be others' for half of the time.
SLACK = 4


class Page:
    def __init__(self, folder, facts):
        self.folder, self.bars, self.pictures, self.blocks = folder, [], [], {}
        lines = [f"{name:12} {value}" for name, value in facts.items()]
        self.block("machine", fenced([*lines, f"{'load after':12} {' '.join(machine.load())}"]))

    def figures(self, sweep):
        """Those of a sweep; none where it was not run."""
        folder = os.path.join(self.folder, sweep)
        return Figures(folder) if os.path.exists(os.path.join(folder, "summary.json")) else None

    def block(self, name, text):
        self.blocks[name] = text

    def picture(self, name, title, charts):
        self.pictures.append(os.path.join(self.folder, f"{name}.svg"))
        drawing.save(self.pictures[-1], title, charts)

    def bar(self, name, value, unit, relation, bound):
        held = value >= bound if relation == ">=" else value <= bound
        word = "ok" if held else "short"
        near = value * SLACK >= bound if relation == ">=" else value <= bound * SLACK
        self.bars.append((near, f"bar {name} {value:.4g} {unit} {relation} {bound:g} {word}"))

    def sane(self):
        """What holds on the busiest machine: every figure is of the right size."""
        return all(near for near, _ in self.bars)

    def write(self, path=None):
        """Prints all blocks and keeps them in a file; into a page of the book go those that it has."""
        self.block("bars", fenced([words for _, words in self.bars]))
        whole = "\n\n".join(blocks.marked(NAME, name, text) for name, text in self.blocks.items())
        with open(os.path.join(self.folder, "measured.md"), "w", encoding="utf-8") as file:
            file.write(whole + "\n")
        print(whole)
        if path:
            blocks.put(path, NAME, self.blocks, self.pictures)
