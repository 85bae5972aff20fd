//! The papers' figures and claims: the checked-in data, and what is said of mistaken ones.

mod claims;
mod published;
