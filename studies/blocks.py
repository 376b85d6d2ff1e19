"""What a study says, as blocks of Markdown: whole in a file, and each between its marks in a page of the book."""

import os
import re
import shutil
import sys

END = "<!-- end -->"


def begin(study, name):
    return f"<!-- measured: {study} {name} -->"


def marked(study, name, text):
    return f"{begin(study, name)}\n{text}\n{END}"


def fenced(lines):
    return "\n".join(["```text", *lines, "```"])


def table(heads, rows):
    """A table whose first column is words and whose others are figures."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in (heads, rule, *rows))


def put(path, study, blocks, pictures=()):
    """Writes those blocks into a page which it has marks for, and pictures into the book."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, block in blocks.items():
        if begin(study, name) not in text:
            print(f"{path} has no marks for `{name}`: what was measured is in the folder alone", file=sys.stderr)
        old = f"{re.escape(begin(study, name))}.*?{re.escape(END)}"
        text = re.sub(old, lambda _, new=marked(study, name, block): new, text, flags=re.DOTALL)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    images = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(path))), "images")
    for picture in pictures:
        shutil.copy(picture, images)
