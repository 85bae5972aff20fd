//! Which option of the command line an error of a library is about: libraries have none.

use tompion_bandwidth::BandwidthError;
use tompion_packets::PacketError;
use tompion_run::Purpose;
use tompion_store::Error as StoreError;

/// What is said before an error and after it.
pub(super) fn around(error: &anyhow::Error) -> (String, &'static str) {
    let run = error.downcast_ref::<tompion_run::Error>();
    if let Some(bandwidth) = error.downcast_ref() {
        return (String::new(), of_bandwidth(bandwidth));
    }
    if let Some(packets) = error.downcast_ref() {
        return (String::new(), of_packets(packets));
    }
    if let Some(store) = of_store(error) {
        return (String::new(), of_place(store));
    }
    let (before, after) = match run {
        Some(tompion_run::Error::Cpus { several: true, .. }) => ("--cpus: ", ""),
        Some(tompion_run::Error::Cpus { several: false, .. }) => ("--cpu: ", ""),
        Some(tompion_run::Error::Process { .. }) => ("--pid ", ""),
        Some(tompion_run::Error::Space(short)) => match short.purpose {
            Purpose::Run => ("", "; name another place with --out, or measure less"),
            Purpose::Loads => (
                "",
                "; name another place with --load-dir, or leave out io and hd",
            ),
        },
        _ => ("", ""),
    };
    (before.to_owned(), after)
}

fn of_bandwidth(error: &BandwidthError) -> &'static str {
    match error {
        BandwidthError::TooLong { .. } | BandwidthError::Silent { .. } => "; choose another --size",
        BandwidthError::OutOfTime { .. } => "; give it more by --max-time",
        _ => "",
    }
}

fn of_packets(error: &PacketError) -> &'static str {
    match error {
        PacketError::NoSuchHost { host, .. } if has_port(host) => "; its port is named with --port",
        _ => "",
    }
}

/// Whether a port stands behind a name or an address, as other programs take it.
fn has_port(host: &str) -> bool {
    let parts = host.rsplit_once(':');
    parts.is_some_and(|(name, port)| {
        (!name.contains(':') || name.ends_with(']')) && port.parse::<u16>().is_ok()
    })
}

/// What the store says, whoever passes it on.
fn of_store(error: &anyhow::Error) -> Option<&StoreError> {
    if let Some(tompion_run::Error::Record(store)) = error.downcast_ref() {
        return Some(store);
    }
    if let Some(tompion_lab::Error::Record(store)) = error.downcast_ref() {
        return Some(store);
    }
    error.downcast_ref()
}

fn of_place(store: &StoreError) -> &'static str {
    match store {
        StoreError::NotEmpty { .. }
        | StoreError::NotDirectory { .. }
        | StoreError::NotOwn { .. } => "; choose another --out",
        StoreError::Taken { .. } => "; wait for it, or choose another --out",
        _ => "",
    }
}
