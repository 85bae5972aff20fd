//! Decides every claim that rests on published figures, from the published data.
//!
//! `cargo run -p tompion-findings` prints what comes out, claim by claim;
//! with `-- --write` it writes the files of `claims/evidence`. A test recomputes them.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let write = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--write") => true,
        Some(other) => {
            eprintln!("tompion-findings: unknown option `{other}`; --write is the only one");
            return ExitCode::FAILURE;
        }
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims/evidence");
    for evidence in tompion_findings::all() {
        for f in &evidence.findings {
            println!("{}: {:?}\n    {}", f.claim, f.outcome, f.because);
        }
        if write {
            let path = directory.join(format!("{}.json", evidence.paper));
            let text = serde_json::to_string_pretty(&evidence).expect("evidence is plain JSON");
            if let Err(e) = std::fs::write(&path, text + "\n") {
                eprintln!("tompion-findings: {}: {e}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
