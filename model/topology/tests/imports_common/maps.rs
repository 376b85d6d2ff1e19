//! GraphML and REPETITA's graphs.

pub const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d1" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d3" />
  <key attr.name="Country" attr.type="string" for="node" id="d4" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d5" />
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d6" />
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d7" />
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="d8" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">New York</data><data key="d2">40.71427</data><data key="d3">-74.00597</data></node>
    <node id="1"><data key="d1">London</data><data key="d2">51.50853</data><data key="d3">-0.12574</data><data key="d4">GB</data></node>
    <node id="2"><data key="d1">Zürich</data><data key="d2">47.36667</data><data key="d3">8.55</data></node>
    <node id="3"><data key="d1">london</data></node>
    <node id="4"><data key="d1">  </data><data key="d2">91.0</data><data key="d3">0.0</data></node>
    <node id="5"><data key="d1">no</data></node>
    <node id="6"/>
    <edge source="0" target="1"><data key="d5">10000000000.0</data></edge>
    <edge source="0" target="1"><data key="d6">622</data><data key="d7">M</data></edge>
    <edge source="1" target="2"><data key="d8">&lt; 10 Gbps</data></edge>
    <edge source="1" target="3"><data key="d8">OC-3</data></edge>
    <edge source="3" target="4"/>
    <edge source="4" target="4"/>
    <edge source="5" target="6"/>
  </graph>
</graphml>
"#;

pub const DRAWN: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key attr.name="hyperedge" attr.type="boolean" for="node" id="d0"/>
  <key for="node" id="d7" yfiles.type="nodegraphics"/>
  <key attr.name="label" attr.type="string" for="edge" id="d33"/>
  <graph edgedefault="directed" id="G">
    <node id="n0"><data key="d7"><y:ShapeNode><y:Geometry x="0.0" y="0.0"/><y:NodeLabel>Seattle</y:NodeLabel></y:ShapeNode></data></node>
    <node id="n1"><data key="d7"><y:ShapeNode><y:Geometry x="300.0" y="400.0"/><y:NodeLabel>Los Angeles</y:NodeLabel></y:ShapeNode></data></node>
    <node id="n2"><data key="d0">true</data><data key="d7"><y:ShapeNode><y:Geometry x="9.0" y="0.0"/><y:NodeLabel/></y:ShapeNode></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d33"><![CDATA[OC-192c]]></data></edge>
    <edge id="e1" source="n0" target="n1"><data key="d33"><![CDATA[45 Mbps DS-3]]></data></edge>
    <edge id="e2" source="n1" target="n2"><data key="d33"><![CDATA[Lit Fibre]]></data></edge>
    <edge id="e3" source="n0" target="n2"><data key="d33"><![CDATA[Lit Fibre]]></data></edge>
  </graph>
</graphml>
"#;

pub const REPETITA: &str = "NODES 4
label x y
0_London -0.13 51.51
1_Paris 2.35 48.86
2_Rome 12.5 41.9
2_Rome 12.5 41.9

EDGES 9
label src dest weight bw delay
edge_0 0 1 10 10000000 1720
edge_1 1 0 10 10000000 1720
edge_2 1 2 20 2500000 5540
edge_3 2 1 30 622000 6000
edge_4 0 1 5 10000000 1720
edge_5 1 0 5 10000000 1720
edge_6 2 0 1 10000000 0
edge_7 3 3 1 1000 1
edge_8 0 3 1.5 0 7000
";

pub const ROCKETFUEL: &str = "NODES 3\nlabel x y\nNew+York,+NY236 0.0 0.0\nLondon217 0.0 0.0\nParis1 0.0 0.0\n\nEDGES 4\nlabel src dest weight bw delay\nLink_0 0 1 131070 10000000 29\nLink_1 1 0 131070 10000000 29\nLink_2 1 2 200 2400000 3\nLink_3 2 1 200 2400000 3\n";
