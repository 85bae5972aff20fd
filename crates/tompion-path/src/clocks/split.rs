//! Where a clock was set or changed its rate: there no line fits any more.

use super::bounds::Bound;
use super::feasible::Feasible;

/// Stamps may be off by so much, and a clock of constant rate wander.
pub(super) const TOLERANCE_NS: i64 = 5_000;
/// So many bounds have to say so before a clock is said to have changed.
const WITNESSES: usize = 3;
/// Bounds that fit after one that did not, until it counts as an outlier.
const PATIENCE: usize = 64;
/// More pieces are not joined, which goes through all before each: a far end may send anything.
const MOST_JOINED: usize = 256;
/// A piece of fewer bounds tells nothing: two for each exchange.
pub(super) const LEAST: usize = 8;

/// Bounds in the order of time, divided where their clock changed.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The places of each piece's bounds.
    pub pieces: Vec<Vec<usize>>,
    /// Bounds that fit into none.
    pub outliers: usize,
}

/// Divides bounds so that each piece has a line that all of its bounds allow.
pub(super) fn split(bounds: &[Bound]) -> Pieces {
    let mut found = Pieces::default();
    let (mut lines, mut piece) = (Feasible::default(), Vec::new());
    // Those that no line allows, the first of which may be the first of another piece.
    let mut doubted: Vec<usize> = Vec::new();
    let mut place = 0;
    while place < bounds.len() {
        let is_old = doubted
            .first()
            .is_some_and(|first| place - first > PATIENCE);
        if is_old {
            doubted.remove(0);
        }
        if lines.admit(&bounds[place], TOLERANCE_NS) {
            piece.push(place);
        } else {
            doubted.push(place);
        }
        if doubted.len() >= WITNESSES {
            let first = doubted.remove(0);
            if is_one_clock(&bounds[first..=place]) {
                piece.retain(|at| *at < first);
                found.take(std::mem::take(&mut piece));
                (lines, place) = (Feasible::default(), first);
                doubted.clear();
                continue;
            }
        }
        place += 1;
    }
    found.take(piece);
    if found.pieces.len() <= MOST_JOINED {
        found.join(bounds);
    }
    found.outliers = bounds.len() - found.pieces.iter().map(Vec::len).sum::<usize>();
    found
}

/// Whether all of them but one are of a clock of constant rate.
fn is_one_clock(bounds: &[Bound]) -> bool {
    let mut lines = Feasible::default();
    let refused = bounds
        .iter()
        .filter(|bound| !lines.admit(bound, TOLERANCE_NS));
    refused.count() <= 1
}

impl Pieces {
    fn take(&mut self, piece: Vec<usize>) {
        if piece.len() >= LEAST {
            self.pieces.push(piece);
        }
    }

    /// Joins neighbours that one line allows: what was between them were outliers.
    fn join(&mut self, bounds: &[Bound]) {
        let mut joined: Vec<Vec<usize>> = Vec::new();
        for piece in std::mem::take(&mut self.pieces) {
            match joined.last_mut() {
                Some(before) if is_one(bounds, before.iter().chain(&piece)) => before.extend(piece),
                _ => joined.push(piece),
            }
        }
        self.pieces = joined;
    }
}

/// Whether one line allows all of them.
fn is_one<'p>(bounds: &[Bound], mut places: impl Iterator<Item = &'p usize>) -> bool {
    let mut lines = Feasible::default();
    places.all(|place| lines.admit(&bounds[*place], TOLERANCE_NS))
}
