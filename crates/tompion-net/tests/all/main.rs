//! Real sockets on loopback and in network namespaces that the tests make. What needs root says
//! NOT RUN without it.

mod allocations;
mod icmp_errors;
mod place;
mod receiving;
mod reflecting;
mod refusals;
mod senders;
mod stamps;
mod sys;
mod taps;
