//! Delay from distance.

use plait_model_quantity::TimeSpan;

/// A place on the Earth, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    latitude: f64,
    longitude: f64,
}

/// The Earth's mean radius (IUGG), in kilometres.
const RADIUS: f64 = 6371.0088;
/// Light in fibre runs at about two thirds of its speed in vacuum, 299,792.458 km/s.
const KILOMETRES_PER_SECOND: f64 = 299_792.458 * 2.0 / 3.0;

impl Place {
    /// A place, where both numbers are on the globe.
    pub fn new(latitude: f64, longitude: f64) -> Option<Self> {
        let fine = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        fine.then_some(Self { latitude, longitude })
    }

    /// Kilometres along the great circle, by the haversine formula. Sines are `libm`'s, so that every machine gets the
    /// same file.
    pub fn distance(self, other: Self) -> f64 {
        let half = |degrees: f64| {
            let sine = libm::sin(degrees.to_radians() / 2.0);
            sine * sine
        };
        let cosines = libm::cos(self.latitude.to_radians()) * libm::cos(other.latitude.to_radians());
        let chord = half(other.latitude - self.latitude) + cosines * half(other.longitude - self.longitude);
        2.0 * RADIUS * libm::asin(libm::sqrt(chord.min(1.0)))
    }
}

/// Propagation delay of fibre over some kilometres, to the microsecond. Real cables take longer ways; the least a link
/// can have is what a map can tell.
pub(super) fn delay(kilometres: f64) -> TimeSpan {
    let microseconds = kilometres / KILOMETRES_PER_SECOND * 1e6;
    TimeSpan::from_nanos(libm::round(microseconds) as u64 * 1000)
}
