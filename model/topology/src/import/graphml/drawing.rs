//! What yEd draws of a node.

use super::super::xml::{descendants, elements};
use roxmltree::Node;

/// The label in the drawing of a node.
pub(super) fn label<'a>(node: Node<'a, 'a>) -> Option<&'a str> {
    let labels = elements(node, "data").flat_map(|data| descendants(data, "NodeLabel"));
    labels.filter_map(|label| label.text()).map(str::trim).find(|text| !text.is_empty())
}

/// The place of a node on the page.
pub(super) fn page(node: Node<'_, '_>) -> Option<[f64; 2]> {
    let geometry = elements(node, "data").find_map(|data| descendants(data, "Geometry").next())?;
    let coordinate = |key: &str| geometry.attribute(key)?.parse::<f64>().ok();
    Some([coordinate("x")?, coordinate("y")?])
}
