"""Autonomous systems as the Internet has them: who sells transit to whom, and what BGP is told about it.

The paper's map (30 ASes of JPNIC out of CAIDA's relationships) cannot be had. Choice: this one is drawn from a seed with
the Internet's shape (Gao and Rexford, "Stable Internet routing without global coordination", 2001): a clique of the
largest, who are all peers; regional providers below, each a customer of one or two above, some of them peers; stubs at
the edge with one or two providers. Providers are chosen in proportion to the customers they have already.
"""

import random
from dataclasses import dataclass

CUSTOMER, PEER, PROVIDER = "customer", "peer", "provider"
# Routes of customers are liked best, those of providers least, and each route carries from whom it came.
TAGS = {CUSTOMER: (1, 300), PEER: (2, 200), PROVIDER: (3, 100)}
BACK = {CUSTOMER: PROVIDER, PEER: PEER, PROVIDER: CUSTOMER}


@dataclass
class Link:
    """A link; `relation` is what the second is to the first: its peer, or its provider."""

    ends: tuple
    relation: str


def draw(count, seed):
    """`count` systems, numbered from 1, and their links."""
    chance = random.Random(seed)
    top = range(1, max(3, count // 10) + 1)
    middle = range(top[-1] + 1, top[-1] + 1 + max(2, count * 3 // 10))
    links = [Link((a, b), PEER) for a in top for b in top if a < b]
    customers = {system: 1 for system in range(1, count + 1)}
    for system in range(top[-1] + 1, count + 1):
        above = list(top) if system in middle else list(top) + list(middle)
        for _ in range(chance.choice((1, 2, 2))):
            provider = chance.choices(above, [customers[other] for other in above])[0]
            if (system, provider) not in [link.ends for link in links]:
                customers[provider] += 1
                links.append(Link((system, provider), PROVIDER))
    for a in middle:
        for b in middle:
            if a < b and chance.random() < 0.25:
                links.append(Link((a, b), PEER))
    return links


def name(system):
    return f"as{system}"


def locator(system):
    """Its address in the underlay, which it alone announces."""
    return f"10.255.{system >> 8}.{system & 255}"


def number(system):
    return 64512 + system


def ends(index):
    """The addresses of a link's two ends."""
    return [f"10.254.{index * 4 >> 8}.{(index * 4 & 255) + place}" for place in (1, 2)]


def neighbours(system, links):
    """What a system is connected to: its own interface and address there, the other's address, its number, and what
    it is to this one."""
    used = {}
    for index, link in enumerate(links):
        ports = []
        for end in link.ends:
            ports.append(used.setdefault(end, 0))
            used[end] += 1
        if system in link.ends:
            place = link.ends.index(system)
            relation = link.relation if place == 0 else BACK[link.relation]
            addresses = ends(index)
            yield ports[place], addresses[place], addresses[1 - place], link.ends[1 - place], relation


def frr(system, links):
    """FRR's configuration: eBGP without valleys. What came from a peer or a provider is told to customers alone."""
    own, beside = locator(system), list(neighbours(system, links))
    lines = ["interface lo", f" ip address {own}/32", f"router bgp {number(system)}", f" bgp router-id {own}"]
    lines += [" timers bgp 3 9"]
    for _, _, address, other, relation in beside:
        lines += [f" neighbor {address} remote-as {number(other)}", f" neighbor {address} timers connect 1",
                  f" neighbor {address} advertisement-interval 0"]
    lines += [" address-family ipv4 unicast", f"  network {own}/32 route-map own"]
    for _, _, address, _, relation in beside:
        lines += [f"  neighbor {address} route-map from-{relation} in",
                  f"  neighbor {address} route-map to-{'customer' if relation == CUSTOMER else 'others'} out"]
    lines += [" exit-address-family"]
    for relation, (tag, preference) in TAGS.items():
        lines += [f"route-map from-{relation} permit 10", f" set community 65535:{tag}",
                  f" set local-preference {preference}"]
    lines += ["route-map own permit 10", " set community 65535:1",
              "bgp community-list standard customers permit 65535:1",
              "route-map to-customer permit 10", "route-map to-others permit 10", " match community customers",
              # Its packets come from the address that others know.
              "route-map source permit 10", f" set src {own}", "ip protocol bgp route-map source"]
    return "\n".join(lines) + "\n"
