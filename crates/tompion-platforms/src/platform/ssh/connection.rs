//! The user's own `ssh`, and what it says where it fails, in one line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use tompion_model::Unavailable;

use super::super::{TaskError, find};
use super::settings::SshSettings;
use crate::process::{self, Bounds, Ended, Input};

/// The status of `ssh` itself.
const SSH_FAILED: i32 = 255;

/// What goes without being asked for: nothing is typed, forwarded or run beside the
/// command. A shared connection of the user's is used, and none is left behind.
const OPTIONS: [&str; 13] = [
    "-T",
    "-a",
    "-x",
    "-o",
    "BatchMode=yes",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "ControlMaster=no",
    "-o",
    "PermitLocalCommand=no",
    "-o",
    "RemoteCommand=none",
];

/// What the user's configuration may leave open, as `ssh -G` tells it, and what is taken
/// then: a machine that is gone must be noticed.
const DEFAULTS: [(&str, &[&str], &[&str]); 2] = [
    (
        "serveraliveinterval",
        &["0"],
        &["ServerAliveInterval=10", "ServerAliveCountMax=3"],
    ),
    ("connecttimeout", &["none", "0"], &["ConnectTimeout=20"]),
];

/// How a machine is reached.
pub(super) struct Connection {
    host: String,
    ssh: Vec<String>,
}

impl Connection {
    /// By the user's configuration; asks nobody.
    pub fn of(settings: &SshSettings) -> Result<Self, Unavailable> {
        let ssh = find(Path::new("ssh"))
            .ok_or("there is no program ssh (Debian: openssh-client)")?
            .display()
            .to_string();
        let mut words = vec![ssh];
        if let Some(config) = &settings.config {
            // Read again by `lab clean`, wherever that is called.
            let config = std::path::absolute(config).unwrap_or_else(|_| PathBuf::from(config));
            words.extend(["-F".to_owned(), config.display().to_string()]);
        }
        if let Some(port) = settings.port {
            words.extend(["-p".to_owned(), port.to_string()]);
        }
        words.extend(OPTIONS.map(str::to_owned));
        let mut ask = Command::new(&words[0]);
        ask.args(&words[1..])
            .args(["-G", "--", &settings.host])
            .stdin(Stdio::null());
        let told = tompion_child::output(&mut ask).map_err(|e| format!("{}: {e}", words[0]))?;
        if !told.status.success() {
            let why = last_line(&told.stderr).unwrap_or_else(|| told.status.to_string());
            return Err(format!("ssh does not take its configuration: {why}").into());
        }
        let told = String::from_utf8_lossy(&told.stdout);
        for (key, open, options) in DEFAULTS {
            let value = told
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            if value.is_none_or(|value| open.contains(&value)) {
                words.extend(
                    options
                        .iter()
                        .flat_map(|o| ["-o".to_owned(), (*o).to_owned()]),
                );
            }
        }
        words.extend(["--".to_owned(), settings.host.clone()]);
        Ok(Self {
            host: settings.host.clone(),
            ssh: words,
        })
    }

    /// The words of a command that has the other machine's shell carry out `script` with
    /// `arguments`.
    pub fn words(&self, script: &str, arguments: &[&str]) -> Vec<String> {
        let quoted = arguments.iter().map(|argument| quoted(argument));
        let there = [
            "exec sh -c".to_owned(),
            quoted_script(script),
            "sh".to_owned(),
        ];
        let there: Vec<String> = there.into_iter().chain(quoted).collect();
        let mut words = self.ssh.clone();
        words.push(there.join(" "));
        words
    }

    pub fn command(&self, script: &str, arguments: &[&str]) -> Command {
        let words = self.words(script, arguments);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// Runs one of its commands. What ended by itself came from the other machine.
    pub fn run(
        &self,
        command: Command,
        input: Input,
        bounds: impl Into<Bounds>,
        stop: &AtomicBool,
    ) -> Result<Ended, TaskError> {
        let ended = process::run_with(command, input, bounds, stop)?;
        match ended.status.code() {
            Some(SSH_FAILED) => Err(TaskError::Failed(reason(&self.host, &ended.stderr))),
            _ => Ok(ended),
        }
    }

    /// Why a command failed there.
    pub fn last_words(&self, ended: &Ended) -> String {
        last_line(&ended.stderr).unwrap_or_else(|| ended.status.to_string())
    }
}

fn quoted_script(script: &str) -> String {
    debug_assert!(!script.contains(['\'', '\\', '!', '\n']));
    format!("'{script}'")
}

/// One word for any login shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map(str::to_owned)
}

/// What failed, by what `ssh` wrote.
fn reason(host: &str, stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let has = |part: &str| text.contains(part);
    let Some(line) = last_line(stderr) else {
        return format!("no connection to {host}: ssh fails without a word");
    };
    let line = line.strip_prefix("ssh: ").unwrap_or(&line);
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        return format!(
            "the key of {host} is not the one that is known here: it was set up anew, or another \
             machine answers in its place; ssh {host} says more"
        );
    }
    if has("Host key verification failed") {
        return format!(
            "the key of {host} is not known here: log in once by hand and compare it (ssh {host})"
        );
    }
    if has("Permission denied (") {
        return format!(
            "{host} refuses the login ({line}); a key is wanted for which nothing has to be typed"
        );
    }
    let lost = [
        "not responding",
        "closed by remote host",
        "client_loop",
        "Broken pipe",
        "Connection reset",
    ];
    if lost.into_iter().any(has) {
        return format!("the connection to {host} was lost ({line})");
    }
    format!("no connection to {host}: {line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ssh_says_is_one_line_with_what_to_do() {
        for (said, want) in [
            (
                "No ED25519 host key is known for [h]:22 and you have requested strict \
                 checking.\r\nHost key verification failed.\r\n",
                "the key of h is not known here",
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification \
                 failed.\n",
                "the key of h is not the one that is known here",
            ),
            (
                "me@h: Permission denied (publickey,password).\n",
                "h refuses the login (me@h: Permission denied (publickey,password).)",
            ),
            (
                "ssh: connect to host h port 22: Connection refused\n",
                "no connection to h: connect to host h port 22: Connection refused",
            ),
            (
                "Timeout, server h not responding.\r\n",
                "the connection to h was lost (Timeout, server h not responding.)",
            ),
            ("", "no connection to h: ssh fails without a word"),
        ] {
            let told = reason("h", said.as_bytes());
            assert!(told.starts_with(want) && !told.contains('\n'), "{told}");
        }
    }

    #[test]
    fn arguments_go_through_a_shell_as_they_are() {
        let connection = Connection {
            host: "h".to_owned(),
            // In place of `ssh -- host`, which hands its last word to the login shell.
            ssh: ["sh", "-c"].map(str::to_owned).to_vec(),
        };
        let nasty = ["{\"a b\":[1,\"$HOME `x`\"]}", "it's", "", "*"];
        let told = connection
            .command(r#"for a; do echo "<$a>"; done"#, &nasty)
            .output()
            .unwrap();
        let want: String = nasty.iter().map(|word| format!("<{word}>\n")).collect();
        assert_eq!(String::from_utf8_lossy(&told.stdout), want);
    }
}
