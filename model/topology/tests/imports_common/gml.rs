//! GML in three dialects.

/// As the Internet Topology Zoo publishes it.
pub const GML: &str = r#"# a comment [ that opens nothing
graph [
  DateObtained "22/10/10"
  Creator "Topology Zoo Toolset"
  label "Two Coasts"
  directed 0
  node [
    id 0
    label "New York"
    Country "United States"
    Longitude -74.00597
    Internal 1
    Latitude 40.71427
  ]
  node [
    id 1
    label "Z&#252;rich &amp; Umland"
    Longitude 8.55
    Latitude 47.36667
  ]
  node [
    id 2
    label "None"
    hyperedge 1
  ]
  edge [
    source 0
    target 1
    LinkSpeed "10"
    LinkLabel "10 Gbps"
    LinkSpeedUnits "G"
    LinkSpeedRaw 10000000000.0
  ]
  edge [
    source 0
    target 1
    LinkLabel "OC-48"
  ]
  edge [
    source 1
    target 2
    LinkLabel "IPLC STM-1"
  ]
  edge [
    source 2
    target 2
  ]
]
"#;

/// As NetworkX writes it, of a multigraph with attributes of its own.
pub const NETWORKX: &str = r#"graph [
  multigraph 1
  name "made &#38; written"
  node [
    id 0
    label "a"
    pos 0.5
    pos -1.2E+3
  ]
  node [
    id 1
    label "1"
    _networkx_list_start "["
  ]
  edge [
    source 0
    target 1
    key 0
    weight 2.5
  ]
  edge [
    source 1
    target 0
    key 1
    weight +INF
  ]
]
"#;

/// As yEd draws it, on few lines.
pub const YED: &str = "Creator\t\"yFiles\"\nVersion\t\"2.17\"\ngraph\n[\thierarchic\t1\n\tlabel\t\"\"\n\tdirected\t1\n\
\tnode [ id 0 graphics [ x 0.0 y 0.0 type \"ellipse\" ] LabelGraphics [ text \"January\" fontSize 12 ] ]\n\
\tnode [ id 7 graphics [ x 300.0 y 400.0 ] LabelGraphics [ text \"December\nin the\nnorth\" ] isGroup 1 ]\n\
\tedge [ source 7 target 0 graphics [ Line [ point [ x 1.0 y 2.0 ] point [ x 1.0 y 2.0 ] ] ]\n\
\t\tLabelGraphics [ text \"622 Mbps\" model \"six_pos\" ] ]\n]\n";
