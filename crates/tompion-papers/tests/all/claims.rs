//! The register of claims: the checked-in one, and what is said of mistaken ones.

mod decided;
mod mistakes;
