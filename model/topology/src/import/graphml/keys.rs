//! The attributes that a GraphML file declares, and those of one element.

use super::super::xml::elements;
use roxmltree::Node;
use std::collections::HashMap;

/// An attribute that a `key` element declares.
struct Key<'a> {
    name: String,
    /// What it is said of: `node`, `edge`, `all`…
    domain: &'a str,
    default: Option<&'a str>,
}

/// The attributes that a file declares.
pub(super) struct Keys<'a> {
    keys: HashMap<&'a str, Key<'a>>,
    /// Defaults of nodes and of edges, by name.
    defaults: [HashMap<String, &'a str>; 2],
}

/// The attributes of one element.
pub(super) struct Attributes<'k, 'a> {
    given: HashMap<&'k str, &'a str>,
    defaults: &'k HashMap<String, &'a str>,
}

impl<'a> Keys<'a> {
    pub fn new(root: Node<'a, 'a>) -> Self {
        let key = |key: Node<'a, 'a>| {
            let name = key.attribute("attr.name")?.to_ascii_lowercase();
            let default = elements(key, "default").next().and_then(|default| default.text()).map(str::trim);
            Some((key.attribute("id")?, Key { name, domain: key.attribute("for").unwrap_or("all"), default }))
        };
        let keys: HashMap<&'a str, Key<'a>> = elements(root, "key").filter_map(key).collect();
        let of = |domain: &str| {
            let keys = keys.values().filter(|key| key.domain == domain || key.domain == "all");
            keys.filter_map(|key| Some((key.name.clone(), key.default?))).collect()
        };
        let defaults = [of("node"), of("edge")];
        Self { keys, defaults }
    }

    /// The attributes of a node or edge by their names in small letters.
    pub fn attributes(&self, element: Node<'a, 'a>) -> Attributes<'_, 'a> {
        let given = elements(element, "data").filter_map(|data| {
            let key = self.keys.get(data.attribute("key")?)?;
            Some((key.name.as_str(), data.text().map_or("", str::trim)))
        });
        let defaults = &self.defaults[usize::from(element.tag_name().name() == "edge")];
        Attributes { given: given.collect(), defaults }
    }

    /// The names of the attributes that an element gives, in its order.
    pub fn given(&self, element: Node<'a, 'a>) -> impl Iterator<Item = &str> {
        let filled = |data: &Node<'_, '_>| data.text().is_some_and(|text| !text.trim().is_empty());
        let key = |data: Node<'a, 'a>| self.keys.get(data.attribute("key")?);
        elements(element, "data").filter(filled).filter_map(key).map(|key| key.name.as_str())
    }
}

impl<'a> Attributes<'_, 'a> {
    /// What is given, else the default; blank is nothing.
    pub fn value(&self, name: &str) -> Option<&'a str> {
        let text = self.given.get(name).or_else(|| self.defaults.get(name)).copied();
        text.filter(|text| !text.is_empty())
    }
}
