//! Round trips to a reflector, a line for each request: its sequence number, and what its round trip took in
//! nanoseconds by the program's stamps, from the queue of its device on, and by the kernel's; the far end's stay
//! included, and empty where a stamp is missing. `benches/net.py` holds that against a tap.
//!
//!     round_trips ADDRESS:PORT INTERVAL_US COUNT

use std::error::Error;
use std::time::Duration;

use tompion_net::{Schedule, Stop};
use tompion_packets::{Marks, Protocol, Settings, measure};
use tompion_path::stamps::Stamp;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [to, interval_us, count] = &arguments[..] else {
        return Err("usage: round_trips ADDRESS:PORT INTERVAL_US COUNT".into());
    };
    let interval = Duration::from_micros(interval_us.parse()?);
    let settings = Settings {
        schedule: Schedule::Periodic { interval },
        count: count.parse()?,
        ..Settings::new(to.parse()?, Protocol::Stamp)
    };
    let (measured, marks) = measure(&settings, &Stop::new()?, &mut |_| {})?;
    measured.require(&settings)?;
    let Marks::Stamp { numbers, .. } = marks else {
        return Err("not STAMP".into());
    };
    for (sequence, row) in numbers.iter().enumerate() {
        let at = |stamp| measured.packets.get(*row as usize, stamp);
        let took = |from, to| {
            let ns = at(from).zip(at(to)).map(|(from, to)| to - from);
            ns.map(|ns| ns.to_string()).unwrap_or_default()
        };
        println!(
            "{sequence},{},{},{}",
            took(Stamp::UserSent, Stamp::UserReceived),
            took(Stamp::Scheduled, Stamp::Received),
            took(Stamp::Sent, Stamp::Received)
        );
    }
    Ok(())
}
