//! What a link does to a packet: conditions in, seeded fate and departure time out.
