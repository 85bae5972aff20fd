//! Every option, defined once: help, man pages and completions come from here.

mod advise;
mod bandwidth;
mod check;
mod claims;
mod compare;
mod family;
mod groups;
mod join;
mod lab;
mod load;
mod measure;
mod ping;
mod preload;
mod published;
mod reflect;
mod report;
mod run;
mod runs;
mod tap;
mod testbed;
mod values;
mod watch;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tompion_run::probes::PROBES;

pub use advise::AdviseOptions;
pub use bandwidth::{BandwidthCommand, BandwidthOptions, SimulateOptions};
pub use check::CheckOptions;
pub use claims::ClaimsOptions;
pub use compare::CompareOptions;
pub use join::{JoinOptions, NamedCapture};
pub use lab::{
    LabCleanOptions, LabCommand, LabOptions, LabPlanOptions, LabPlatformsOptions, LabRunOptions,
    LabSummaryOptions, ProgramOptions,
};
pub use load::LoadOptions;
pub use measure::{MeasureOptions, Measurement};
pub use ping::{PingOptions, PingPreset, StampFormat};
pub use preload::{PreloadOptions, PreloadPolicy};
pub use published::PublishedOptions;
pub use reflect::ReflectOptions;
pub use report::ReportOptions;
pub use run::RunOptions;
pub use runs::RunsOptions;
pub use tap::TapOptions;
pub use testbed::{Bottleneck, TestbedOptions};
pub use values::MethodName;
pub use watch::WatchOptions;

/// Can I trust time in this VM, container or cloud instance, and what should my
/// program do about it?
#[derive(Parser, Debug)]
#[command(
    name = "tompion",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = EXAMPLES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  tompion check            timing quality of this machine, in 75 seconds
  tompion check --quick    a first look in 20 seconds
  tompion measure stalls   what stalls a busy loop, and why
  tompion watch            a live view; a key press switches the load
  tompion advise           try remedies, and measure the effect of each
  tompion compare A B      how two runs differ, with confidence intervals
  tompion lab run PLAN     the same measurements in containers and VMs
  tompion report RUN       regenerate the report of the run in directory RUN
  tompion preload --policy hybrid -- CMD
                           run a program so that its sleeps end on time

Exit status:
  0    done
  1    error
  2    a --require profile, a --fail-if gate or a lab measurement failed
  3    none failed, but a --require profile or a --fail-if gate is inconclusive
  130  interrupted";

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Measure this machine's timing, and say what it is fit for
    Check(Box<CheckOptions>),
    /// Measure one aspect in depth
    #[command(about = measure::about())]
    Measure(MeasureOptions),
    /// Show wake-up latency, stalls, steal time and clock state live
    Watch(WatchOptions),
    /// Try remedies one at a time, and measure the effect of each
    Advise(Box<AdviseOptions>),
    /// Regenerate a run's report, or export it in another format
    Report(ReportOptions),
    /// List the runs that were kept, or remove old ones
    Runs(RunsOptions),
    /// Compare recorded runs with each other, or with published results
    Compare(CompareOptions),
    /// Run the same measurements on several platforms, from one plan
    Lab(LabOptions),
    /// Describe this machine: clock, hypervisor, container, kernel
    Env(EnvOptions),
    /// List probes, methods, loads, platforms and profiles by name
    List(ListOptions),
    /// Print claims of five papers, the status of each, what settles it
    Claims(ClaimsOptions),
    /// Print the published results that runs can be compared with
    Published(PublishedOptions),
    /// Run an unmodified program with Tompion's clock or sleeps
    Preload(PreloadOptions),
    /// Run a load by itself, and report what it did
    Load(LoadOptions),
    /// Act as the far end of loads that run on another machine
    Peer(PeerOptions),
    /// Measure round trips, split by where the time goes
    Ping(Box<PingOptions>),
    /// Estimate how much more a path could carry (available bandwidth)
    Bandwidth(Box<BandwidthOptions>),
    /// Act as the far end of round trips (STAMP)
    Reflect(ReflectOptions),
    /// Capture test packets as they pass a network device
    Tap(TapOptions),
    /// Join captures of taps with a run of round trips
    Join(JoinOptions),
    /// Run a command over a network path whose truth is known
    Testbed(TestbedOptions),
    /// Write man pages
    Man(ManOptions),
    /// Print completions for a shell
    Completions(CompletionOptions),
}

/// Describe this machine.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion env
  tompion env --json | jq .clock")]
pub struct EnvOptions {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// List names for options and plans.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion list
  tompion list --json")]
pub struct ListOptions {
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Act as the far end of loads, until interrupted.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion peer
  tompion peer --listen 192.0.2.7:5210 --key KEY
  tompion peer --listen 192.0.2.7:5210 --key KEY --dir /srv/scratch

Both machines need the same key. Make it once, and copy it over a secure channel:
  (umask 077; head -c 32 /dev/urandom | base64 > KEY)

Then, on the machine under test:
  tompion check --loads idle,network:peer=192.0.2.7:5210:key=/root/KEY

Serves network, download and udp (TCP and UDP on one port), and with --dir
also file-server. A load proves that it has the key, which is never sent.
Without --key anyone who connects exchanges bulk data with this machine.")]
pub struct PeerOptions {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5210", value_parser = values::address)]
    pub listen: SocketAddr,

    /// Serve only loads that have the key in this file; needed to listen beyond this machine
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// Listen beyond this machine without a key: only where nobody else can connect
    #[arg(long, conflicts_with = "key")]
    pub open: bool,

    /// Also serve file-server, with files in this directory: up to 4 MiB per client,
    /// and none is left behind
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Write man pages, one per command.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion man --out ~/.local/share/man/man1")]
pub struct ManOptions {
    /// Directory to write to; created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Print completions.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tompion completions bash > ~/.local/share/bash-completion/completions/tompion
  tompion completions zsh > ~/.zfunc/_tompion
  tompion completions fish > ~/.config/fish/completions/tompion.fish")]
pub struct CompletionOptions {
    /// bash, zsh, fish, ...
    pub shell: clap_complete::Shell,
}

/// Parses the command line; help and version go to standard output, errors
/// become one line and status 1.
pub fn parse() -> Result<Cli, ExitCode> {
    let parsed = command().try_get_matches();
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| {
        if !error.use_stderr() {
            let text = error.render();
            let text = if std::io::stdout().is_terminal() {
                text.ansi().to_string()
            } else {
                text.to_string()
            };
            return crate::exit::code(crate::output::print(&text).map(|()| 0));
        }
        let words: Vec<OsString> = std::env::args_os().collect();
        crate::exit::complain(&told(&error, &words));
        ExitCode::from(crate::exit::ERROR)
    })
}

/// Reads the words of another command of this program, as after `--`.
///
/// # Errors
/// What is wrong with them, in one line.
pub fn parse_words(words: &[OsString]) -> anyhow::Result<Command> {
    let own = [OsString::from("tompion")];
    let parsed = Cli::try_parse_from(own.iter().chain(words));
    let cli = parsed.map_err(|error| match error.use_stderr() {
        true => anyhow::anyhow!("after --: {}", told(&error, words)),
        false => anyhow::anyhow!("after --: no help and no version, but what to measure"),
    })?;
    Ok(cli.command)
}

/// What is wrong with a command line of these words, and who has the option that its command has not.
fn told(error: &clap::Error, words: &[OsString]) -> String {
    let line = one_line(&error.render().to_string());
    let line = match negative(error) {
        Some(number) => match option_before(&number, words) {
            Some(option) => format!("{option}: no value may be negative (see --help)"),
            None => format!("{number} is no option, and no value may be negative (see --help)"),
        },
        None => line,
    };
    match elsewhere(error) {
        None => line,
        Some(option) => {
            let (wrong, _) = line.split_once("; ").unwrap_or((&line, ""));
            format!(
                "{}; {option} (see --help)",
                wrong.trim_end_matches(" (see --help)")
            )
        }
    }
}

/// The negative number, or its first digit, that clap took for an option which it does not know.
fn negative(error: &clap::Error) -> Option<String> {
    let of_kind = error.kind() == ErrorKind::UnknownArgument;
    let unknown = error.get(ContextKind::InvalidArg).filter(|_| of_kind)?;
    let ContextValue::String(argument) = unknown else {
        return None;
    };
    let digits = argument.strip_prefix('-')?;
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| argument.clone())
}

/// The option whose value begins so.
fn option_before(number: &str, words: &[OsString]) -> Option<String> {
    let is_it = |word: &OsString| word.to_str().is_some_and(|w| w.starts_with(number));
    let at = words.iter().position(is_it)?;
    let before = words.get(at.checked_sub(1)?)?.to_str()?;
    before.starts_with("--").then(|| before.to_owned())
}

/// The commands that have an option which another has not, where these are few.
fn elsewhere(error: &clap::Error) -> Option<String> {
    /// Of more, none is meant.
    const FEW: usize = 3;
    let unknown = error.get(ContextKind::InvalidArg)?;
    let ContextValue::String(option) = unknown else {
        return None;
    };
    let long = option
        .strip_prefix("--")
        .filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let command = Cli::command();
    let having = command.get_subcommands().filter(|command| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_long() == Some(long) && !argument.is_hide_set())
    });
    let names: Vec<String> = having
        .map(|c| format!("`tompion {}`", c.get_name()))
        .collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    (1..=FEW)
        .contains(&names.len())
        .then(|| format!("{} {verb} {option}", names.join(", ")))
}

/// Clap's several lines as one: what is wrong and its hints, without the usage.
fn one_line(rendered: &str) -> String {
    let parts: Vec<&str> = rendered
        .lines()
        .take_while(|l| !l.starts_with("Usage:"))
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with("For more information"))
        .collect();
    let text = parts
        .join(" ")
        .replace(" found tip: ", " found; ")
        .replace(" tip: ", "; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    if rendered.starts_with("error:") {
        format!("{text} (see --help)")
    } else {
        // Called without a command: clap renders the whole help.
        let probes: Vec<&str> = PROBES.iter().map(|probe| probe.name).collect();
        format!(
            "no command given; try `tompion check`, or `tompion measure` with one of {} (see \
             --help)",
            probes.join(", ")
        )
    }
}

/// The command for man pages and completions.
pub fn command() -> clap::Command {
    groups::grouped(Cli::command())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn errors_are_one_line_that_says_what_would_be_right() {
        let cases: [(&[&str], &str); 30] = [
            (&["tompion", "check", "--seed", "abc"], "such as 42"),
            (
                &["tompion", "check", "--seed", "-5"],
                "--seed: no value may be negative",
            ),
            (
                &["tompion", "check", "--duration", "-5s"],
                "--duration: no value may be negative",
            ),
            (&["tompion", "check", "--duration", "5"], "such as 100us"),
            (&["tompion", "check", "--blocks", "x"], "such as 8"),
            (&["tompion", "check", "--blocks", "0"], "at least 1"),
            (&["tompion", "check", "--cpu", "one"], "such as 1"),
            (&["tompion", "load", "cpu", "--cpu", "0,1"], "one CPU"),
            (&["tompion", "watch", "--cpu", "x"], "one CPU, such as 1"),
            (&["tompion", "advise", "--seed", "x"], "such as 42"),
            (
                &["tompion", "measure", "stalls", "--cpus", "8192"],
                "up to 8191",
            ),
            (
                &["tompion", "measure", "stalls", "--pid", "99999999999"],
                "such as 1234",
            ),
            (&["tompion", "measure", "stalls", "--pid", "0"], "from 1 on"),
            (&["tompion", "peer", "--listen", "here"], "[::1]:5210"),
            (&["tompion", "check", "--samples", "0"], "at least 1"),
            (&["tompion", "check", "--wake-samples", "0"], "at least 1"),
            // What reports advise, under the same name.
            (
                &["tompion", "measure", "wake-up", "--wake-samples", "0"],
                "at least 1",
            ),
            (&["tompion", "check", "--targets", "100"], "such as 100us"),
            (&["tompion", "check", "--methods", "snooze"], "tompion list"),
            (&["tompion", "check", "--quik"], "--quick"),
            (
                &["tompion", "check", "--format", "verdict-json"],
                "; `tompion report`, `tompion ping`, ",
            ),
            (&["tompion"], "tompion check"),
            (&["tompion", "preload"], "COMMAND"),
            (
                &["tompion", "preload", "--polcy", "tsc", "true"],
                "--policy",
            ),
            (
                &["tompion", "preload", "--policy", "hpet", "true"],
                "kernel",
            ),
            (&["tompion", "preload", "--policy", "", "true"], "kernel"),
            (&["tompion", "preload", "--budget", "0", "true"], "5%"),
            (&["tompion", "preload", "--budget", "101%", "true"], "5%"),
            (&["tompion", "preload", "--budget", "NaN", "true"], "5%"),
            (&["tompion", "preload", "--budget", "-1", "true"], "5%"),
        ];
        for (arguments, want) in cases {
            let error = Cli::try_parse_from(arguments).unwrap_err();
            let words: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let line = told(&error, &words);
            assert!(line.contains(want) && !line.contains('\n'), "{line}");
        }
    }
}
