//! Tests on planted truths: how often they are wrong, and how often they find what is there.

mod common;
mod maxima_growth;
mod null_test;
mod power_test;
