//! `idle`: nothing.

use std::sync::Arc;
use tompion_model::AT_REST;

use crate::load::{Load, Parse, Work};

pub(super) static ENTRY: Load = Load {
    name: AT_REST,
    about: "nothing runs beside the measurement; any of the others combine with +, as in cpu+network",
    in_check: true,
    parse: Parse::Text(|rest| match rest {
        None => Ok(Arc::new(Idle)),
        Some(_) => Err("idle takes no options".into()),
    }),
};

#[derive(Debug)]
struct Idle;

impl Work for Idle {
    fn is_idle(&self) -> bool {
        true
    }

    fn makes_wait(&self) -> bool {
        false
    }

    fn moves_bytes(&self) -> bool {
        false
    }
}
