//! Round trips of a guest to its host, as the guest's own stamps have them; `benches/net.py` holds that against a tap
//! on the host's side.
//!
//!     guest_round_trips ROUND_TRIPS TOMPION PORT INTERVAL_US COUNT
//!
//! First a line with the network namespace that has the far end and the guest's device, tap0; once the guest has ended,
//! a line with what ran it, and what ROUND_TRIPS printed in it. The guest is of the kit that TOMPION_GUEST names.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{Write, stdout};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tompion_guest::{Guest, HOST_ADDRESS, Kit, Tap};

/// For the boot of an emulated guest on a busy machine.
const BOOT: Duration = Duration::from_secs(120);

/// Ends with this program, whatever becomes of it.
struct FarEnd(Child);

impl Drop for FarEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [round_trips, tompion, port, interval_us, count] = &arguments[..] else {
        return Err("usage: guest_round_trips ROUND_TRIPS TOMPION PORT INTERVAL_US COUNT".into());
    };
    let measures = Duration::from_micros(interval_us.parse()?) * count.parse()?;
    let tap = Arc::new(Tap::new()?);
    let to = format!("{HOST_ADDRESS}:{port}");
    let answers = ["reflect", "--listen", &to, "--rate", "10000", "--quiet"];
    let start = || {
        let mut command = Command::new(tompion);
        command.args(answers).stdout(Stdio::null()).spawn()
    };
    let far_end = FarEnd(tap.inside(start)??);
    println!("/proc/{}/ns/net", far_end.0.id());
    stdout().flush()?;
    let outcome = Guest::new(&Kit::from_env()?)
        .dynamic("/bin/round_trips", round_trips)
        .command(["/bin/round_trips", &to, interval_us, count])
        .tap(tap)
        .timeout(BOOT + measures)
        .run()?;
    if !outcome.status.success() {
        return Err(outcome.stderr_text().into());
    }
    let how = match outcome.accel.is_emulation() {
        true => "emulated",
        false => outcome.accel.label(),
    };
    println!("QEMU, {how}");
    print!("{}", outcome.stdout_text());
    Ok(())
}
