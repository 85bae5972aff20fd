//! What takes packets of others: recorded ones.

mod stamp_suite;
