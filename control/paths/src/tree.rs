//! The thesis's path tree, and relays as its Algorithm 2 extracts them.

/// Paths that begin at one switch, joined where they begin alike (§5.5.2). A switch that paths come to by different ways is
/// several nodes.
#[derive(Debug, Clone)]
pub struct PathTree {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
struct Node {
    switch: usize,
    children: Vec<usize>,
    /// Which path ends here.
    path: Option<usize>,
}

impl PathTree {
    /// The tree of paths, none of which is the beginning of another: they have one end, and are without loops.
    pub fn new<P: AsRef<[usize]>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        for (index, path) in paths.into_iter().enumerate() {
            let mut at: Option<usize> = None;
            for &switch in path.as_ref() {
                let known = match at {
                    Some(parent) => {
                        nodes[parent].children.iter().copied().find(|&child| nodes[child].switch == switch)
                    }
                    None => (!nodes.is_empty()).then_some(0),
                };
                at = Some(known.unwrap_or_else(|| {
                    nodes.push(Node { switch, children: Vec::new(), path: None });
                    let new = nodes.len() - 1;
                    if let Some(parent) = at {
                        nodes[parent].children.push(new);
                    }
                    new
                }));
            }
            if let Some(leaf) = at {
                nodes[leaf].path = Some(index);
            }
        }
        Self { nodes }
    }

    /// The relays of each path, in the paths' order: Algorithm 2, a walk into the depth that notes every switch whose
    /// parent has several children, and gives at a leaf what it noted on the way.
    ///
    /// Choice: a note is taken back on the way back. As printed it is not, and every list would be the beginning of the
    /// next.
    pub fn relays(&self) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        if !self.nodes.is_empty() {
            self.visit(0, false, &mut Vec::new(), &mut found);
        }
        found.sort_unstable();
        found.into_iter().map(|(_, relays)| relays).collect()
    }

    fn visit(
        &self,
        node: usize,
        parent_branches: bool,
        noted: &mut Vec<usize>,
        found: &mut Vec<(usize, Vec<usize>)>,
    ) {
        let Node { switch, children, path } = &self.nodes[node];
        if let Some(path) = path {
            found.push((*path, noted.clone()));
            return;
        }
        if parent_branches {
            noted.push(*switch);
        }
        for &child in children {
            self.visit(child, children.len() > 1, noted, found);
        }
        if parent_branches {
            noted.pop();
        }
    }
}
