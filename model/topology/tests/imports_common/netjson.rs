//! NetJSON in two dialects.

/// As a routing daemon's plugin writes it: both directions, costs with fractions, on lines that begin with
/// tabs.
pub const MESH: &str = "{\n\t\"type\": \"NetworkGraph\",\n\t\"protocol\": \"OLSR\",\n\t\"version\": \"0.6.6\",\n\
\t\"metric\": \"ETX\",\n\t\"label\": \"Roofs \\ud83d\\ude00 of \\u0052ome\\/North\",\n\t\"nodes\": [\n\
\t\t{\"id\": \"10.150.0.1\", \"label\": \"Trastevere\", \"local_addresses\": [\"10.151.0.1\"]},\n\
\t\t{\"id\": \"10.150.0.2\"},\n\t\t{ \"id\" : 3, \"properties\":{\"gateway\":true} }\n\t],\n\t\"links\": [\n\
\t\t{\"source\": \"10.150.0.1\", \"target\": \"10.150.0.2\", \"cost\": 1.50390625, \"cost_text\": \"1.504\"},\n\
\t\t{\"source\": \"10.150.0.2\", \"target\": \"10.150.0.1\", \"cost\": 1.75},\n\
\t\t{\"source\": \"10.150.0.2\", \"target\": 3, \"cost\": 0},\n\
\t\t{\"source\": 3, \"target\": 3, \"cost\": 1},\n\
\t\t{\"source\": 3, \"target\": \"10.150.0.1\", \"properties\": {\"channel\": 6}}\n\t]\n}\n";

/// As it is drawn on a map, on one line, in a collection.
pub const MAP: &str = r#"{"type":"NetworkCollection","collection":[{"type":"NetworkGraph","protocol":"static","version":null,"metric":null,"nodes":[{"id":"a","label":"Rome","properties":{"location":{"lat":41.9,"lng":12.5}}},{"id":"b","label":"Milan","location":{"lat":45.46,"lng":9.19}}],"links":[{"source":"a","target":"b","cost":1000000.0},{"source":"a","target":"b","cost":1}]},{"type":"NetworkGraph","nodes":[],"links":[]}]}"#;
