"""The k shortest paths of networkx to some switches of a graph: how long they take, and what they cost.

Reads k, the source, destinations, and the links with their costs, a line each; prints seconds, and then a line of costs for each
destination. Where all links cost the same it searches by hops, which is the quicker of its two ways.
"""

import itertools
import sys
import time

import networkx

k, source = (int(word) for word in sys.stdin.readline().split())
destinations = [int(word) for word in sys.stdin.readline().split()]
graph = networkx.Graph()
graph.add_weighted_edges_from(tuple(int(word) for word in line.split()) for line in sys.stdin)
weight = "weight" if any(cost != 1 for _, _, cost in graph.edges.data("weight")) else None
started = time.perf_counter()
paths = [list(itertools.islice(networkx.shortest_simple_paths(graph, source, to, weight), k)) for to in destinations]
print(time.perf_counter() - started)
for of in paths:
    print(*(networkx.path_weight(graph, path, "weight") for path in of))
