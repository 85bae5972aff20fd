//! Disposable guests in which a program is measured.
//!
//! [`guest`] boots a small Linux in QEMU, runs one program in it, and brings back
//! what it printed and how it ended. Nothing is left on the machine afterwards.
#![deny(unsafe_code)]

pub mod guest;

mod sys;
