//! What `env` in a `#!` line runs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What the argument that a script's first line gives to `env` comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvLine {
    /// The program that `env` looks for.
    pub program: OsString,
    /// `PATH`, where the line sets it.
    pub path: Option<OsString>,
}

/// Reads the one argument that follows `env` in a `#!` line.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(argument: Option<&[u8]>) -> Result<EnvLine, String> {
    let os = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let Some(argument) = argument else {
        return Err("gives env no program".to_owned());
    };
    let Some(list) = split_string(argument) else {
        // The kernel passes on all of it as one argument.
        return match argument {
            [b'-', ..] => Err("gives env options without -S".to_owned()),
            _ if argument.contains(&b'=') => Err("sets a variable by env without -S".to_owned()),
            name => Ok(EnvLine {
                program: os(name),
                path: None,
            }),
        };
    };
    let mut path = None;
    let mut words = list
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty());
    while let Some(word) = words.next() {
        if word.iter().any(|b| b"'\"\\$".contains(b)) {
            return Err("quotes what it gives env: which program runs cannot be told".to_owned());
        }
        match word {
            b"-" | b"-i" | b"--ignore-environment" => {
                return Err("makes env clear the environment, LD_PRELOAD with it".to_owned());
            }
            b"-u" | b"--unset" => drops(words.next().unwrap_or_default())?,
            b"-C" | b"--chdir" => drop(words.next()),
            [b'-', b'u', name @ ..] => drops(name)?,
            _ if word.starts_with(b"--unset=") => drops(&word[8..])?,
            [b'-', ..] => {}
            _ => match word.iter().position(|b| *b == b'=') {
                Some(at) if &word[..at] == b"PATH" => path = Some(os(&word[at + 1..])),
                Some(at) => drops(&word[..at])?,
                None => {
                    let program = os(word);
                    return Ok(EnvLine { program, path });
                }
            },
        }
    }
    Err("gives env no program".to_owned())
}

/// The text after `-S` in one of its spellings.
fn split_string(argument: &[u8]) -> Option<&[u8]> {
    [&b"--split-string="[..], b"-S", b"-vS"]
        .iter()
        .find_map(|prefix| argument.strip_prefix(*prefix))
}

/// The variables that we set are not to be unset or set anew.
fn drops(name: &[u8]) -> Result<(), String> {
    match name {
        b"LD_PRELOAD" | b"TOMPION_PRELOAD" => Err(format!(
            "makes env change {}",
            String::from_utf8_lossy(name)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(argument: &str) -> Result<String, String> {
        parse(Some(argument.as_bytes())).map(|l| l.program.into_string().unwrap())
    }

    #[test]
    fn the_program_is_found_behind_options_and_assignments() {
        for (argument, want) in [
            ("python3", "python3"),
            ("-S python3 -u", "python3"),
            ("-Spython3", "python3"),
            ("-vS  A=b -u HOME --chdir /tmp -uX perl -w", "perl"),
            ("--split-string=A=1 -- ruby", "ruby"),
            // Without -S it is one name.
            ("python3 -u", "python3 -u"),
        ] {
            assert_eq!(program(argument).as_deref(), Ok(want), "{argument}");
        }
        let line = parse(Some(b"-S PATH=/opt/bin:/bin tool")).unwrap();
        assert_eq!(line.path, Some(OsString::from("/opt/bin:/bin")));
    }

    #[test]
    fn what_loses_the_library_or_cannot_be_told_is_an_error() {
        for (argument, want) in [
            ("-S -i python3", "clear the environment"),
            ("-S - python3", "clear the environment"),
            ("-S -u LD_PRELOAD python3", "change LD_PRELOAD"),
            ("-S LD_PRELOAD=x python3", "change LD_PRELOAD"),
            ("-S \"python 3\"", "quotes"),
            ("-i python3", "without -S"),
            ("-S A=1", "no program"),
        ] {
            let error = program(argument).unwrap_err();
            assert!(error.contains(want), "{argument}: {error}");
        }
        assert!(parse(None).is_err());
    }
}
