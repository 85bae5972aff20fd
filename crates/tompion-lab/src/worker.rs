//! What runs in an instance: a program's main function hands its arguments over here.

use std::io::Write;

use crate::WorkerError;
use crate::cell::{CELL_ARG, measure};
use crate::neighbour::{NEIGHBOUR_ARG, neighbour};
use tompion_platforms::{GUARD_ARG, remote_guard};

/// Does what `arguments` (without the program's name) ask for where a lab calls itself in an
/// instance: measures a cell and writes its result to standard output, is a neighbour of
/// one, or guards one. `None` where they are no such call. `tool` names the program in
/// records. The result is an exit status.
///
/// # Errors
/// What failed, in one line.
pub fn worker_main(arguments: &[String], tool: &str) -> Option<Result<u8, WorkerError>> {
    let job = arguments.get(1).ok_or(WorkerError::NotCalled);
    Some(match arguments.first()?.as_str() {
        CELL_ARG => job.and_then(|job| {
            let result = measure(job, tool)?;
            let mut out = std::io::stdout().lock();
            out.write_all(&result)
                .and_then(|()| out.flush())
                .map_err(WorkerError::io("standard output"))?;
            Ok(0)
        }),
        NEIGHBOUR_ARG => job.and_then(|job| neighbour(job).map(|()| 0)),
        GUARD_ARG => remote_guard(&arguments[1..]).map_err(WorkerError::Guard),
        _ => return None,
    })
}
