"""Makes links, a fresh one for each run, and sends datagrams through them."""

import glob
import json
import os
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import machine  # noqa: E402
from guest import Guest  # noqa: E402

from points import IN_GUEST  # noqa: E402

NAME = "study-accuracy"
ADDRESSES = "10.9.0.1", "10.9.0.2"
# How long nothing comes before a run begins and when it has ended.
SILENCE = "300ms"
# The longest that any command may take, in seconds.
PATIENCE = 120


def called(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def workload(point):
    return [str(point.count), str(point.frame), f"{point.gap}ns", SILENCE]


def passages(said):
    """When each datagram was sent, and its delay or nothing, in nanoseconds."""
    rows = [line.split() for line in said.splitlines()]
    return [int(sent) for sent, _ in rows], [None if delay == "-" else int(delay) for _, delay in rows]


class Testbed:
    """Two nodes and a link between them, made by Plait and gone at the end."""

    def __init__(self, plait, folder, name, text):
        self.plait, self.name = plait, name
        path = os.path.join(folder, "net.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"plait: 1\nname: {name}\n{text}")
        called(plait, "up", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.down()

    def down(self):
        called(self.plait, "down", self.name)

    def exec(self, node, *command):
        return called(*self.in_node(node), *command)

    def in_node(self, node):
        return self.plait, "exec", "--testbed", self.name, node, "--"

    def accuracy_class(self):
        lines = called(self.plait, "inspect", self.name).splitlines()
        return next((line for line in lines if line.startswith("accuracy class")), "no engine")


class Host:
    """Makes links on this machine."""

    def __init__(self, plait, one_way, folder):
        self.plait, self.one_way, self.folder = plait, one_way, folder

    def run(self, maker, point, seed):
        words = point.makers[maker]
        if maker == "tclink":
            # What Mininet makes is in namespaces of its own, and so nothing of it is left.
            said = called("unshare", "--mount", "--net", os.path.join(HERE, "tclink"), self.one_way,
                          json.dumps(words), *workload(point))
            return passages(said), f"TCLink {json.dumps(words)}"
        keys = f", {words}" if isinstance(words, str) and words else ""
        via = ", via: engine" if maker == "plait" else ""
        text = (f"seed: {seed}\nnodes: [a, b]\n"
                f"links:\n- {{endpoints: [a, b], prefix: 10.9.0.0/30{via}{keys}}}\n")
        with Testbed(self.plait, self.folder, NAME, text) as testbed:
            for line in words if isinstance(words, list) else []:
                testbed.exec("a", "tc", *line.split())
            class_ = testbed.accuracy_class()
            ends = [Namespace(testbed, node) for node in ("a", "b")]
            try:
                places = [word for end in zip((end.path for end in ends), ADDRESSES) for word in end]
                said = called(self.one_way, *places, *workload(point))
            finally:
                for end in ends:
                    end.close()
        made_by = text if isinstance(words, str) else "\n".join(words)
        return passages(said), f"{made_by}\n# {class_}"


class Namespace:
    """The namespace of a node as a file of the host's, while a program runs in it."""

    def __init__(self, testbed, node):
        link = testbed.exec(node, "readlink", "/proc/self/ns/net").strip()
        nowhere = subprocess.DEVNULL
        self.holder = subprocess.Popen([*testbed.in_node(node), "sleep", str(PATIENCE)],
                                       stdin=nowhere, stdout=nowhere, stderr=nowhere)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            for path in glob.glob("/proc/[0-9]*/ns/net"):
                try:
                    if os.readlink(path) == link:
                        self.path = path
                        return
                except OSError:
                    pass
            time.sleep(0.01)
        self.close()
        raise RuntimeError(f"no program of {node} can be seen")

    def close(self):
        self.holder.kill()
        self.holder.wait()


class InGuest:
    """Makes links in a guest, between two namespaces of its own. It boots when it is first asked."""

    INSIDE = "/root/one_way"
    # Mininet, and what it calls without saying so.
    MININET = ("mininet", "bash", "debianutils")

    def __init__(self, plait, one_way, example, folder, mininet):
        self.testbed = Testbed(plait, folder, f"{NAME}-guest", "nodes: [g]\n")
        before = [f"+{package}" for package in self.MININET] if mininet else []
        files = [f"{self.INSIDE}={one_way}", f"/root/tclink={os.path.join(HERE, 'tclink')}"]
        self.guest = Guest(example, self.testbed.name, "g", "--virtual-time", *before, *files)
        if mininet:
            # Packages are unpacked and not configured, so this name is missing.
            self.guest.run("ln -s which.debianutils /usr/bin/which")

    def run(self, maker, point, _seed):
        words = point.makers[maker]
        if maker == IN_GUEST + "tclink":
            line = shlex.join(["python3", "/root/tclink", self.INSIDE, json.dumps(words), *workload(point)])
            return passages(self.guest.run(line)), f"TCLink {json.dumps(words)}"
        a, b = ADDRESSES
        lines = ["set -e", "ip netns add a", "ip netns add b",
                 "ip link add name eth0 netns a type veth peer name eth0 netns b"]
        for node, address in zip("ab", ADDRESSES):
            lines += [f"ip -n {node} address add {address}/30 dev eth0", f"ip -n {node} link set eth0 up"]
        lines += [f"tc -n a {line}" for line in words]
        lines += [shlex.join([self.INSIDE, "/run/netns/a", a, "/run/netns/b", b, *workload(point)])]
        try:
            return passages(self.guest.run("; ".join(lines))), "\n".join(words)
        finally:
            self.guest.run("ip netns delete a; ip netns delete b; true")

    def end(self):
        self.guest.end()
        self.testbed.down()
