"""A guest, for studies: the example `guest`, which runs in its guest what it reads."""

import os
import subprocess

END = "end of it"


class Guest:
    def __init__(self, program, testbed, node, *before, home=None):
        """Boots one in the place of a node. `before` is what the example takes before it: packages, files."""
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [program, *before, testbed, node], stdin=pipe, stdout=pipe, stderr=pipe, text=True,
            env={**os.environ, **({"HOME": home} if home else {})})
        # When its image was ready, and when it was up.
        self.words = [self.process.stderr.readline().strip() for _ in range(2)]
        if not self.words[1]:
            raise RuntimeError(f"no guest: {self.words[0]}")

    def run(self, line):
        """Runs a line of shell and gives what it said; it must succeed."""
        self.process.stdin.write(f"({line}) 2>&1; echo {END} $?\n")
        self.process.stdin.flush()
        heard = []
        for said in self.process.stdout:
            if said.startswith(END):
                if said.split()[-1] != "0":
                    raise RuntimeError(f"`{line}` failed in the guest: {''.join(heard).strip()}")
                return "".join(heard)
            heard.append(said)
        raise RuntimeError("the guest ended")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
