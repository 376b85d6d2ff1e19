//! Where nodes are: on the globe, or on a page whose scale is known.

use super::super::geography::Place;
use super::xml::descendants;
use roxmltree::Node;
use std::collections::HashMap;

/// Where a node is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Location {
    Globe(Place),
    /// In kilometres.
    Page([f64; 2]),
}

impl Location {
    /// The place that a node's attributes give, else its place on the page.
    pub fn of(node: Node<'_, '_>, attributes: &HashMap<&str, &str>, scale: Option<f64>) -> Option<Self> {
        let number = |key: &str| attributes.get(key).and_then(|text| text.parse::<f64>().ok());
        let place = number("latitude").zip(number("longitude"));
        let place = place.and_then(|(latitude, longitude)| Place::new(latitude, longitude));
        place.map(Self::Globe).or_else(|| Self::on_page(node, scale))
    }

    /// The place of a drawn node, where the page has a scale.
    fn on_page(node: Node<'_, '_>, scale: Option<f64>) -> Option<Self> {
        let scale = scale.filter(|scale| scale.is_finite())?;
        let geometry = descendants(node, "Geometry").next()?;
        let coordinate = |key: &str| geometry.attribute(key)?.parse::<f64>().ok().map(|value| value * scale);
        let place = [coordinate("x")?, coordinate("y")?];
        // Nothing on the Earth is further apart than half its circumference.
        place.iter().all(|value| value.abs() < 20_000.0).then_some(Self::Page(place))
    }

    /// Kilometres between two places of one kind.
    pub fn distance(self, other: Self) -> Option<f64> {
        match (self, other) {
            (Self::Globe(a), Self::Globe(b)) => Some(a.distance(b)),
            (Self::Page(a), Self::Page(b)) => Some(libm::hypot(a[0] - b[0], a[1] - b[1])),
            _ => None,
        }
    }
}
