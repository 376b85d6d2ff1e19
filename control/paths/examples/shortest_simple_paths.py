"""The k shortest paths of networkx to some switches of a graph: how long they take, and what they cost.

Reads k, the source, destinations, and the links, a line each; prints seconds, and then a line of costs for each destination.
"""

import itertools
import sys
import time

import networkx

k, source = (int(word) for word in sys.stdin.readline().split())
destinations = [int(word) for word in sys.stdin.readline().split()]
graph = networkx.Graph(tuple(int(word) for word in line.split()) for line in sys.stdin)
started = time.perf_counter()
paths = [list(itertools.islice(networkx.shortest_simple_paths(graph, source, to), k)) for to in destinations]
print(time.perf_counter() - started)
for of in paths:
    print(*(len(path) - 1 for path in of))
