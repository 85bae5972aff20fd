//! `tompion join`: captures of taps as further vantage points of a run.

use std::fs::File;
use std::io::{Read, Take};

use anyhow::Context;
use tompion_model::printable;
use tompion_run::probes::join::{JoinedTap, TapCapture, join as join_run};
use tompion_store::{Run, RunWriter};

use super::given_file::regular;
use super::report::{self, Judged, Page, Shape};
use super::run_names::run_named;
use crate::cli::{JoinOptions, NamedCapture};
use crate::{exit, output};

/// Carries out the command.
pub fn join(options: &JoinOptions) -> exit::Result {
    RunWriter::try_create(&options.out)?;
    let run = Run::open_tidied(&run_named(&options.run)?)?;
    let taps: Vec<TapCapture<Take<File>>> =
        options.tap.iter().map(opened).collect::<Result<_, _>>()?;
    let (joined, directory) = join_run(&run, taps, &options.out)?;
    let lines: Vec<String> = joined.iter().map(in_words).collect();
    // By what was made: somebody else may have put another under its name.
    let run = Run::open_in(&directory)?;
    if !options.output.json && !options.output.quiet {
        output::print(&(lines.join("\n") + "\n\n"))?;
    }
    let page = Page::InRun;
    report::make(&run, &page, options.output, Judged::default(), Shape::Whole)
}

/// A capture.
fn opened(tap: &NamedCapture) -> anyhow::Result<TapCapture<Take<File>>> {
    let about = || format!("tap {}: {}", tap.name, tap.file.display());
    let file = regular(&tap.file).with_context(about)?;
    // What comes behind that while it is read is another capture.
    let length = file.metadata().with_context(about)?.len();
    Ok(TapCapture {
        name: tap.name.clone(),
        capture: file.take(length),
    })
}

fn in_words(tap: &JoinedTap) -> String {
    let found = &tap.found;
    let device = found.device.as_deref();
    let at = device.map_or(String::new(), |device| {
        format!(" (at {})", printable(device))
    });
    let dropped = match found.dropped {
        Some(0) => String::new(),
        Some(dropped) => format!("; it dropped {dropped} packets"),
        None => "; the file does not say what it dropped".to_owned(),
    };
    format!(
        "{}{at}: {} of {} probes on their way out, {} replies on their way home{dropped}",
        tap.name, found.joined.outward, tap.probes, found.joined.homeward
    )
}
