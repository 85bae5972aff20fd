//! Tests of the whole crate, as others use it.

mod round_trips;
