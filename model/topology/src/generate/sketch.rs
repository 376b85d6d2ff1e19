//! A network on its way to becoming text.

/// Nodes by name and kind, and links between them.
pub(super) struct Sketch {
    kind: String,
    nodes: Vec<(String, String)>,
    links: Vec<(usize, usize)>,
}

impl Sketch {
    pub fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), nodes: Vec::new(), links: Vec::new() }
    }

    /// Adds a node of the kind the network is made of. Names have no hyphens, so that `a-b` is always one link.
    pub fn node(&mut self, name: String) -> usize {
        self.nodes.push((name, self.kind.clone()));
        self.nodes.len() - 1
    }

    pub fn host(&mut self, name: String) -> usize {
        self.nodes.push((name, "host".to_owned()));
        self.nodes.len() - 1
    }

    pub fn link(&mut self, a: usize, b: usize) {
        self.links.push((a, b));
    }

    /// Attaches as many hosts to each node that is none itself: `h` and the node's name, and a count where there are
    /// several.
    pub fn attach_hosts(&mut self, each: usize) {
        let inner: Vec<usize> = (0..self.nodes.len()).filter(|&at| self.nodes[at].1 != "host").collect();
        for at in inner {
            for count in 1..=each {
                let name = &self.nodes[at].0;
                let name = if each == 1 { format!("h_{name}") } else { format!("h{count}_{name}") };
                let host = self.host(name);
                self.link(at, host);
            }
        }
    }

    /// The network file, lists broken into lines that people can read.
    pub fn text(&self, title: &str, command: &str) -> String {
        let kind = self.nodes.first().map_or(self.kind.as_str(), |(_, kind)| kind.as_str());
        let uniform = self.nodes.iter().all(|(_, other)| other == kind);
        let mut text = format!("# {command}\nplait: 1\nname: {title}\n");
        let quoted = |kind: &str| match kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            true => kind.to_owned(),
            false => format!("'{}'", kind.replace('\'', "''")),
        };
        if uniform && kind != "host" {
            text += &format!("defaults: {{node: {{kind: {}}}}}\n", quoted(kind));
        }
        match uniform {
            true => list(&mut text, "nodes", self.nodes.iter().map(|(name, _)| name.clone())),
            false => {
                text += "nodes:\n";
                for (name, kind) in &self.nodes {
                    text += &format!("  {name}: {}\n", quoted(kind));
                }
            }
        }
        let name = |at: usize| &self.nodes[at].0;
        list(&mut text, "links", self.links.iter().map(|&(a, b)| format!("{}-{}", name(a), name(b))));
        text
    }
}

fn list(text: &mut String, key: &str, items: impl Iterator<Item = String>) {
    const WIDTH: usize = 100;
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    *text += key;
    *text += ": [";
    let mut line = key.len() + 3;
    let mut first = true;
    for item in items {
        if !first {
            *text += ",";
            if line + item.len() + 2 > WIDTH {
                *text += "\n  ";
                line = 2;
            } else {
                *text += " ";
                line += 2;
            }
        }
        first = false;
        line += item.len();
        *text += &item;
    }
    *text += "]\n";
}
