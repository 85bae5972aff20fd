//! The programs that drive a load: their versions and command lines.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::LoadError;
use crate::spec::{Kind, Part, split_peer};

/// Port of an iperf3 server unless said otherwise.
const IPERF3_PORT: &str = "5201";

/// An iperf3 that is stopped for longer than its receive timeout (2 minutes)
/// would give up; a day is its greatest. Older versions have no such timeout.
const IPERF3_TIMEOUT: [&str; 2] = ["--rcv-timeout", "86400000"];

/// One driver as started by the supervisor.
pub struct Driver {
    /// Name of the program.
    pub program: &'static str,
    /// A program that must listen on a TCP port of this host before the main one.
    pub server: Option<(Command, u16)>,
    /// The main program.
    pub main: Command,
}

/// Name and version of the driver of a load; absent for a built-in load.
///
/// # Errors
/// If the program is not installed, or does not tell its version.
pub fn version(spec: &Part) -> Result<Option<String>, LoadError> {
    let Some(program) = program(spec) else {
        return Ok(None);
    };
    let output = match Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
    {
        Ok(output) => output,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::DriverMissing {
                load: spec.to_string(),
                program,
            });
        }
        Err(source) => {
            return Err(LoadError::System {
                load: spec.to_string(),
                action: "ask the program for its version",
                source,
            });
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match version_number(&text) {
        Some(number) => Ok(Some(format!("{program} {number}"))),
        None => Err(LoadError::Start {
            load: spec.to_string(),
            problem: format!("{program} --version does not tell a version"),
        }),
    }
}

fn program(spec: &Part) -> Option<&'static str> {
    match spec.kind {
        Kind::StressNg { .. } => Some("stress-ng"),
        Kind::Iperf3 { .. } => Some("iperf3"),
        _ => None,
    }
}

/// The first word that starts with a digit: `stress-ng, version 0.15.06 (...)`,
/// `iperf 3.12 (cJSON 1.7.15)`.
fn version_number(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// The command lines of a load that a program drives; absent for others.
///
/// `directory` is for temporary files of the program.
///
/// # Errors
/// If no port is free for a server.
pub fn driver(spec: &Part, directory: &Path) -> io::Result<Option<Driver>> {
    match &spec.kind {
        Kind::StressNg { options } => Ok(Some(stress_ng(options, directory))),
        Kind::Iperf3 { peer } => iperf3(peer.as_deref()).map(Some),
        _ => Ok(None),
    }
}

fn stress_ng(options: &[(String, Option<String>)], directory: &Path) -> Driver {
    let mut main = Command::new("stress-ng");
    // 0 is for ever: the supervisor ends it.
    main.args(["--timeout", "0", "--temp-path"]).arg(directory);
    for (key, value) in options {
        main.arg(format!("--{key}")).args(value);
    }
    Driver {
        program: "stress-ng",
        server: None,
        main,
    }
}

fn iperf3(peer: Option<&str>) -> io::Result<Driver> {
    let help = Command::new("iperf3")
        .arg("--help")
        .stdin(Stdio::null())
        .output()?;
    let knows_timeout = [help.stdout, help.stderr]
        .iter()
        .any(|text| String::from_utf8_lossy(text).contains(IPERF3_TIMEOUT[0]));
    let iperf3 = || {
        let mut command = Command::new("iperf3");
        // Reports every second would be work beside the load.
        command.args(["--interval", "0"]);
        if knows_timeout {
            command.args(IPERF3_TIMEOUT);
        }
        command
    };
    let client = |host: &str, port: &str| {
        let mut command = iperf3();
        // Time 0 is for ever: the supervisor ends it.
        command.args(["--bidir", "--time", "0", "--client", host, "--port", port]);
        command
    };
    let (server, main) = match peer {
        Some(peer) => {
            let (host, port) = split_peer(peer);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            (None, client(host, port.unwrap_or(IPERF3_PORT)))
        }
        None => {
            // iperf3 cannot pick a port itself: the kernel names a free one.
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let text = port.to_string();
            let mut server = iperf3();
            server.args(["--server", "--bind", "127.0.0.1", "--port", &text]);
            (Some((server, port)), client("127.0.0.1", &text))
        }
    };
    Ok(Driver {
        program: "iperf3",
        server,
        main,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(command: &Command) -> String {
        let args = command.get_args().map(|a| a.to_string_lossy());
        args.collect::<Vec<_>>().join(" ")
    }

    fn part(text: &str) -> Part {
        text.parse::<crate::LoadSpec>().unwrap().components()[0].clone()
    }

    #[test]
    fn versions_are_found_in_what_the_programs_say() {
        let stress_ng = "stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux 6.18)\n";
        assert_eq!(version_number(stress_ng), Some("0.15.06"));
        assert_eq!(version_number("iperf 3.12 (cJSON 1.7.15)\n"), Some("3.12"));
        assert_eq!(version_number("no number\n1.0"), None);
        assert_eq!(version_number(""), None);
    }

    #[test]
    fn options_become_options_of_stress_ng() {
        let driver = driver(
            &part("stress-ng:cpu=4:vm-bytes=10%:aggressive"),
            Path::new("here"),
        );
        let driver = driver.unwrap().unwrap();
        let expected = "--timeout 0 --temp-path here --cpu 4 --vm-bytes 10% --aggressive";
        assert_eq!(line(&driver.main), expected);
        assert!(driver.server.is_none());
    }

    #[test]
    fn built_in_loads_have_no_driver() {
        assert!(driver(&part("cpu"), Path::new(".")).unwrap().is_none());
        assert_eq!(version(&part("cpu")).unwrap(), None);
    }
}
