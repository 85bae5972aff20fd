//! A machine that is reached by ssh, as a plan describes it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::keys::Table;

/// Where the program is put on the other machine, if a plan names no place.
const DIRECTORY: &str = "/tmp";

/// How a machine is reached, and where on it is measured. What is absent is left to the
/// user's own configuration of ssh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SshSettings {
    /// `user@host`, or a name of the user's configuration.
    pub host: String,
    /// Port.
    pub port: Option<u16>,
    /// Configuration instead of the user's own and the machine's, as `ssh -F` takes it.
    pub config: Option<PathBuf>,
    /// A directory there, from which programs may be run.
    pub directory: PathBuf,
    /// The machine that it is or runs on: platforms of one machine are measured one after
    /// the other, those of several at the same time. Where a plan names none it is the
    /// host, without the user.
    pub machine: String,
}

impl SshSettings {
    /// Reads them, with the name that such a platform has if the plan gives none.
    pub(super) fn read(table: &Table<'_, '_>) -> Option<(String, Self)> {
        let host = table.read("host", |value| match value.as_str() {
            Some(host) if is_host(host) => Ok(host.to_owned()),
            _ => Err(
                "a text such as \"user@host\" is wanted, or a name of your ssh configuration"
                    .to_owned(),
            ),
        });
        let is_missing = table.at_key("host") == table.at();
        let port = table.number("port", 1..65_536);
        let config = table.text("config").map(PathBuf::from);
        let directory = table.read("directory", |value| match value.as_str() {
            Some(path) if is_place(path) => Ok(PathBuf::from(path)),
            _ => Err("an absolute path without quotes is wanted".to_owned()),
        });
        if is_missing {
            let text = "an ssh platform needs a host: \"user@host\", or a name of your ssh \
                configuration";
            table.wrong(table.at(), text);
        }
        let host = host?;
        let machine = table
            .text("machine")
            .unwrap_or_else(|| machine_of(&host).to_owned());
        let settings = Self {
            machine,
            port: port.and_then(|port| u16::try_from(port).ok()),
            config,
            directory: directory.unwrap_or_else(|| DIRECTORY.into()),
            host,
        };
        Some((format!("ssh:{}", settings.host), settings))
    }

    /// Settings that are not left as they are, for people to read.
    pub(super) fn in_words(&self) -> Vec<String> {
        let place = |path: &Path| path.display().to_string();
        let named = self.machine != machine_of(&self.host);
        let elsewhere = self.directory != Path::new(DIRECTORY);
        [
            self.port.map(|port| format!("port {port}")),
            self.config
                .as_deref()
                .map(|c| format!("config {}", place(c))),
            elsewhere.then(|| format!("directory {}", place(&self.directory))),
            named.then(|| format!("machine {}", self.machine)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A host without its user.
fn machine_of(host: &str) -> &str {
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// What ssh, or what its configuration hands it to, cannot take for an option, and no name
/// holds.
fn is_host(text: &str) -> bool {
    let fits =
        |c: char| !c.is_whitespace() && !c.is_control() && !"'\"\\`$;|&<>(){}!*?#".contains(c);
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('-');
    text.chars().all(fits) && is_name(text) && is_name(machine_of(text))
}

/// What goes through any login shell as it is.
fn is_place(text: &str) -> bool {
    text.starts_with('/') && !text.contains(|c: char| c.is_control() || "'\"\\!".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_could_take_for_something_else_is_no_host() {
        for host in [
            "node-1",
            "root@10.0.0.1",
            "me@[fe80::1%eth0]",
            "a@b@c",
            "host.example",
        ] {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "",
            "-oProxyCommand=x",
            "u@-oX",
            "@-oX",
            "a@b@-x",
            "u@",
            "a b",
            "a\0b",
            "$(x)",
            "a;b",
            "a|b",
            "a\nb",
            "`x`",
            "a'b",
        ] {
            assert!(!is_host(host), "{host:?}");
        }
    }
}
