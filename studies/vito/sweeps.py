"""A sweep of the study: a network file that Plait runs, here or in a guest.

What runs here goes on where it was. What runs in a guest is whole or not there.
"""

import base64
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "vito")

# What a download is asked for, where the file is VITO's.
DOWNLOAD = """metrics:
  time: {output: download, field: end.sum_received.seconds, unit: s}
  goodput: {output: download, field: end.sum_received.bits_per_second, unit: bit/s}
  cwnd: {tcp: cwnd_packets, on: server}
  cwnd_max: {tcp: cwnd_packets, on: server, take: max}
  rtt: {tcp: srtt_ms, on: server}
  rtt_low: {tcp: srtt_ms, on: server, take: p5}
  rtt_max: {tcp: srtt_ms, on: server, take: max}
  retransmits: {tcp: retransmits, on: server, take: max}
"""


class Sweep:
    def __init__(self, name, source, edits, runs, seconds, in_guest=False):
        """`edits`: texts of the source, and what stands in their place. `seconds`: of one of `runs`."""
        self.name, self.source, self.edits, self.in_guest = name, source, edits, in_guest
        self.runs, self.seconds = runs, seconds

    def text(self, plait):
        if self.source.endswith(".xml"):
            text = plait("import", os.path.join(EXAMPLES, self.source)) + DOWNLOAD
        else:
            with open(os.path.join(HERE, self.source), encoding="utf-8") as file:
                text = file.read()
        for old, new in self.edits.items():
            if old not in text:
                raise SystemExit(f"{self.source} has no `{old}`")
            text = text.replace(old, new)
        return text

    def folder(self, results):
        return os.path.join(results, self.name)

    def left(self, results):
        """How many runs are still to be done."""
        if self.in_guest:
            return 0 if os.path.exists(os.path.join(self.folder(results), "summary.json")) else self.runs
        runs = os.path.join(self.folder(results), "runs")
        return self.runs - min(self.runs, len({name.rsplit("-", 1)[0] for name in listed(runs)}))

    def run(self, plait, results, guest):
        folder = self.folder(results)
        path = os.path.join(results, f"{self.name}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text(plait))
        if not self.in_guest:
            begun = os.path.exists(os.path.join(folder, "experiment.json"))
            plait("run", path, "--resume" if begun else "--output", folder, watched=True)
        elif self.left(results):
            self.run_inside(plait, path, folder, guest())

    def run_inside(self, plait, path, folder, guest):
        with open(path, "rb") as file:
            guest.run(f"echo {base64.b64encode(file.read()).decode()} | base64 -d > {self.name}.yaml")
        guest.run("rm -rf out out.tar.zst")
        guest.run(f"plait run {self.name}.yaml --output out || [ $? = 1 ]")
        guest.run("plait pack out --output out.tar.zst")
        packed = f"{folder}.tar.zst"
        with open(packed, "wb") as file:
            file.write(base64.b64decode(guest.run("base64 -w 0 out.tar.zst; echo")))
        plait("unpack", packed, "--output", folder)
        os.remove(packed)


def listed(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []


def plait_of(program):
    """Runs plait and gives what it prints. The study ends when it fails; where it is `watched`, people see
    how it goes on, and a run that failed is one that the sweep counted."""
    def plait(*arguments, watched=False):
        pipe = subprocess.PIPE
        said = None if watched else pipe
        done = subprocess.run([program, *arguments], stdout=pipe, stderr=said, text=True, check=False)
        if done.returncode > (1 if watched else 0):
            raise SystemExit(f"plait {' '.join(arguments)} failed:\n{done.stdout}{done.stderr or ''}")
        return done.stdout
    return plait
