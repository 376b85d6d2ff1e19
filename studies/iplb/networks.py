"""Network files of the studies on real stacks, as text."""

import random


def random_graph(rng, ports, switches, hosts):
    """Links of a connected random graph of switches, each with as many ports, of which some hold a host.

    Choice: no more than one host a switch, since the thesis does not say where hosts stand; a switch's other ports lead to
    others. Ends of links are drawn as in the configuration model, until there are no loops and no two links alike.
    """
    homes = rng.sample(range(switches), hosts)
    ends = [switch for switch in range(switches) for _ in range(ports - (switch in homes))]
    while True:
        rng.shuffle(ends)
        links = {tuple(sorted(pair)) for pair in zip(ends[::2], ends[1::2])}
        if len(links) == len(ends) // 2 and all(a != b for a, b in links) and is_connected(links, switches):
            return homes, sorted(links)


def is_connected(links, count):
    beside = {node: set() for node in range(count)}
    for a, b in links:
        beside[a].add(b)
        beside[b].add(a)
    seen, left = {0}, [0]
    while left:
        new = beside[left.pop()] - seen
        seen |= new
        left += new
    return len(seen) == count


def derangement(rng, count):
    """Who sends to whom: each to one other, and each from one other."""
    peers = list(range(count))
    while any(host == peer for host, peer in enumerate(peers)):
        rng.shuffle(peers)
    return peers


# When E9's hosts begin to send, s.
UPLOADS_AT = 2
# E9's ways to choose paths, and what the file says for them.
SINGLE, ECMP = "single", "ECMP"
# Packets of E9's queues. Choice: the thesis does not say; 100 are what ns-3's devices have, 0.7 s of a link, and 20 a fifth.
LONG, SHORT = 100, 20


def subflows(seed, method, seconds, omitted, queue=LONG, ports=4, switches=20, hosts=16):
    """E9: each host sends to one other, over Multipath TCP with eight subflows; the same seed is the same graph and pairs.

    `method` is one shortest path, the switches' hashes, or so many paths by relays. What arrives in the first `omitted` seconds
    does not count: in them buffers and queues fill.
    """
    rng = random.Random(seed)
    homes, links = random_graph(rng, ports, switches, hosts)
    peers = derangement(rng, hosts)
    text = ["plait: 1", "name: iplb-random-graph", f"seed: {seed}",
            f"defaults: {{link: {{rate: 10Mbit, queue: {queue}p, mtu: 9000B}}}}"]
    if method == ECMP:
        text.append("routing: {protocol: frr, hello: 1s, dead: 4s}")
    # Where nobody chooses paths, hosts have the program all the same: `plait subflows` is in it.
    chosen = "learn: none" if method in (SINGLE, ECMP) else f"k: {method}, select: round-robin"
    text.append(f"paths: {{{chosen}}}")
    text += ["groups: {switch: {kind: router, sysctls: {net.ipv4.fib_multipath_hash_policy: 1}}}", "nodes:"]
    text += [f"  s{switch}: {{groups: [switch]}}" for switch in range(switches)]
    text += [f"  h{host}: {{kind: host, congestion_control: cubic}}" for host in range(hosts)]
    text += ["links:", *(f"  - s{a}-s{b}" for a, b in links), *(f"  - h{host}-s{home}" for host, home in enumerate(homes))]
    every = ", ".join(f"h{host}" for host in range(hosts))
    text += ["run:", f"  - {{at: 0s, on: [{every}], name: subflows, exec: plait subflows --count 8, background: true, "
             "expect: any}"]
    for host, peer in enumerate(peers):
        text.append(f"  - {{at: 0s, on: h{peer}, name: server{host}, exec: mptcpize run iperf3 -s -1 -p {5200 + host}, "
                    "background: true, expect: any}")
    text += [f"  - {{until: port {5200 + host} open on h{peer}}}" for host, peer in enumerate(peers)]
    if method == ECMP:
        text.append("  - {until: routes stable}")
    for host, peer in enumerate(peers):
        text.append(f"  - {{at: {UPLOADS_AT}s, on: h{host}, name: upload{host}, timeout: {omitted + seconds + 60}s, "
                    f"exec: mptcpize run iperf3 -J -c h{peer} -p {5200 + host} -O {omitted} -t {seconds}}}")
    text.append("collect: {tcp: off, links: 1s, interfaces: off}")
    return "\n".join(text) + "\n"
