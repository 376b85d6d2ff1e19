//! Where nodes are: on the globe, or on a page whose scale is known.

use super::geography::Place;

/// Where a node is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Location {
    Globe(Place),
    /// In kilometres.
    Page([f64; 2]),
}

impl Location {
    /// The place that a node's attributes give, else its place on the page, where that has a scale.
    pub fn of<'a>(
        attribute: impl Fn(&str) -> Option<&'a str>,
        page: Option<[f64; 2]>,
        scale: Option<f64>,
    ) -> Option<Self> {
        let number = |key: &str| attribute(key).and_then(|text| text.parse::<f64>().ok());
        let place = number("latitude").zip(number("longitude"));
        let place = place.and_then(|(latitude, longitude)| Place::new(latitude, longitude));
        place.map(Self::Globe).or_else(|| Self::on_page(page?, scale?))
    }

    fn on_page(page: [f64; 2], scale: f64) -> Option<Self> {
        let place = page.map(|coordinate| coordinate * scale);
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
