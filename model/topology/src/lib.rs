//! What a network is: nodes, links and LANs, the file that describes them, and the graph they make.
