//! What a preload library can do for a program, and the library itself.

mod common;
mod hostile;
mod inspection;
mod libraries;
