//! The link engine: moves packets between real devices as model/link decides.
