//! What a preload library can do for a program, and the library itself.

mod common;
mod inspection;
mod libraries;
