//! The programs that drive a load: their versions and command lines.

use std::io;
use std::process::{Command, Stdio};

use crate::LoadError;

/// One driver as started by the supervisor.
pub struct Driver {
    /// Name of the program.
    pub program: &'static str,
    /// A program that must listen on a TCP port of this host before the main one.
    pub server: Option<(Command, u16)>,
    /// The main program.
    pub main: Command,
}

/// Name and version of the program that drives `load`.
///
/// # Errors
/// If it is not installed, or does not tell its version.
pub fn version(program: &'static str, load: &str) -> Result<String, LoadError> {
    let mut ask = Command::new(program);
    ask.arg("--version").stdin(Stdio::null());
    let output = match tompion_child::output(&mut ask) {
        Ok(output) => output,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::DriverMissing {
                load: load.to_owned(),
                program,
            });
        }
        Err(source) => {
            return Err(LoadError::System {
                load: load.to_owned(),
                action: "ask the program for its version",
                source,
            });
        }
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match version_number(&text) {
        Some(number) => Ok(format!("{program} {number}")),
        None => Err(LoadError::Start {
            load: load.to_owned(),
            problem: format!("{program} --version does not tell a version"),
        }),
    }
}

/// The first word that starts with a digit: `stress-ng, version 0.15.06 (...)`,
/// `iperf 3.12 (cJSON 1.7.15)`.
fn version_number(text: &str) -> Option<&str> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::spec::Part;

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
        let part = part("stress-ng:cpu=4:vm-bytes=10%:aggressive");
        let driver = part.work.driver(Path::new("here")).unwrap().unwrap();
        let expected = "--timeout 0 --temp-path here --cpu 4 --vm-bytes 10% --aggressive";
        assert_eq!(line(&driver.main), expected);
        assert!(driver.server.is_none());
    }

    #[test]
    fn built_in_loads_have_no_driver() {
        assert!(part("cpu").work.driver(Path::new(".")).unwrap().is_none());
        assert_eq!(part("cpu").work.program(), None);
    }
}
