//! Clocks that nobody keeps in step: what the far end's is ahead by, how fast that changes, and
//! delays each way.
//!
//! Whatever a path does, it delays: a probe's stamps at both ends say that the far end's clock is
//! ahead by at most so much, those of its reply by at least so much. While that clock keeps its
//! rate there is a line below all of the former and above all of the latter, and how steep it may
//! be is known, whatever waited where. Where there is none the clock was set or changed its rate.
//! The line taken is the one that lies closest to both (Moon, Skelly, Towsley, "Estimation and
//! Removal of Clock Skew from Network Delay Measurements", INFOCOM 1999; by convex hulls as
//! Zhang, Liu, Xia, "Clock Synchronization Algorithms for Network Measurements", INFOCOM 2002),
//! here with one rate for both ways.
//!
//! Half of the least round trip is what stamps cannot tell: by so much the path may be quicker
//! one way than the other. Each delay may be off by that, all by the same.

mod bounds;
mod exchange;
mod feasible;
mod fit;
mod line;
mod rests;
mod split;

pub use exchange::{Exchange, exchanges};
pub use fit::{Change, ClockFit, NoFit, Piece};
pub use line::Line;
pub use rests::through_rests;
