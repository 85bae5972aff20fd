//! Options of `tompion measure`: a command for each probe, from the list of probes.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use tompion_model::format_duration;
use tompion_run::probes::{
    Form, Observing, PROBES, Parameter, Place, Preset, Probe, Selection, Time,
};

use super::RunOptions;
use super::run::with_default;
use super::values::pid;

/// Measure one aspect in depth, under any loads, into a run directory with a report.
#[derive(Args, Debug)]
#[command(after_help = overview())]
pub struct MeasureOptions {
    /// What to measure.
    #[command(subcommand)]
    pub what: Measurement,
}

/// What is measured, and where, beside what, how long.
#[derive(Debug)]
pub struct Measurement {
    /// The probe with its parameters.
    pub selection: Selection,
    /// File for an interval log, of a probe that has one.
    pub hlog: Option<PathBuf>,
    /// The running program to watch instead, with a probe that does.
    pub pid: Option<i32>,
    /// Where, beside what, how long.
    pub run: RunOptions,
}

/// What `tompion measure` does, for the list of commands.
pub(super) fn about() -> String {
    let [first, .., last] = PROBES else {
        unreachable!("there are several probes");
    };
    format!(
        "Measure one aspect in depth, from {} to {}",
        first.title, last.title
    )
}

fn overview() -> String {
    examples(PROBES.iter().flat_map(|probe| probe.overview))
}

fn examples<'a>(commands: impl IntoIterator<Item = &'a &'a str>) -> String {
    let lines = commands.into_iter().map(|command| format!("\n  {command}"));
    format!("Examples:{}", lines.collect::<String>())
}

impl Subcommand for Measurement {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(PROBES.iter().map(|probe| command_of(probe)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Probe::find(name).is_some()
    }
}

impl FromArgMatches for Measurement {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let named = matches.subcommand();
        let found = named.and_then(|(name, matches)| Some((Probe::find(name)?, matches)));
        let (probe, matches) = found.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let given = probe
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter.name, values(parameter, matches)?)));
        let selection = Selection::new(probe, Place::CommandLine, given)
            .map_err(|why| Error::raw(ErrorKind::ValueValidation, why))?;
        Ok(Self {
            selection,
            hlog: optional(probe.has_interval_log, matches, HLOG),
            pid: optional(probe.watches_programs, matches, PID),
            run: RunOptions::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Options beyond parameters, of the probes that say so.
const HLOG: &str = "hlog";
const PID: &str = "pid";

/// The command of a probe.
fn command_of(probe: &'static Probe) -> Command {
    let mut command = Command::new(probe.name).args(probe.parameters.iter().map(option));
    if probe.has_interval_log {
        command = command.arg(
            Arg::new(HLOG)
                .long(HLOG)
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Also write all intervals as an HdrHistogram interval log"),
        );
    }
    if probe.watches_programs {
        // What the run of a loop takes, and a program that is watched does not.
        let of_loops = probe.parameters.iter().map(|parameter| parameter.name);
        let of_runs = [
            "out", "loads", "policy", "cpu", "blocks", "seed", "load_dir", "observe",
        ];
        let log = probe.has_interval_log.then_some(HLOG);
        command = command.arg(
            Arg::new(PID)
                .long(PID)
                .value_name("PID")
                .value_parser(pid)
                .conflicts_with_all(of_loops.chain(log).chain(of_runs))
                .help(
                    "Watch this running program instead: when its threads could have run but \
                     did not, and why",
                ),
        );
    }
    let mut after = examples(probe.examples);
    if !probe.remarks.is_empty() {
        after = format!("{after}\n\n{}", probe.remarks);
    }
    let usual = probe.usual;
    let mut command = RunOptions::augment_args(command)
        .mut_arg("loads", |arg| with_default(arg, &usual.loads.join(",")))
        .mut_arg("duration", |arg| with_default(arg, &in_words(usual.time)))
        .mut_arg("blocks", |arg| with_default(arg, &usual.blocks.to_string()));
    command = command.mut_arg("observe", |arg| match probe.observing {
        Observing::AsAsked => arg,
        Observing::Always => {
            arg.help("Not selectable here: this probe always records all available evidence")
        }
    });
    // The options of the run have a description of their own.
    command
        .about(probe.about)
        .long_about(None)
        .after_help(after)
}

/// The usual time of a run, for the help.
fn in_words(time: Time) -> String {
    let length = |time: Duration| format_duration(time.as_nanos() as u64);
    match time {
        Time::Whole(time) => length(time),
        Time::EachTrial(time) => format!("{} for each trial", length(time)),
        Time::AllSamples => "as long as all samples take; required beyond an hour".to_owned(),
    }
}

/// A parameter as an option.
fn option(parameter: &'static Parameter) -> Arg {
    let arg = Arg::new(parameter.name)
        .long(parameter.name)
        .conflicts_with_all(parameter.excludes)
        .help(parameter.help);
    let arg = match parameter.short {
        Some(short) => arg.short(short),
        None => arg,
    };
    let arg = match parameter.alias {
        Some(alias) => arg.visible_alias(alias),
        None => arg,
    };
    if matches!(parameter.form, Form::Flag) {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg
        .value_name(parameter.value_name)
        .value_parser(|text: &str| parameter.form.read(text));
    let arg = match parameter.form.one_of_several() {
        Some(_) => arg.value_delimiter(',').action(ArgAction::Append),
        None => arg,
    };
    match parameter.preset {
        Preset::Text(text) => arg.default_value(text),
        Preset::Required => arg.required(true),
        Preset::Here(_) | Preset::Absent => arg,
    }
}

/// The values of a parameter, where it has any.
fn values(parameter: &Parameter, matches: &ArgMatches) -> Option<Vec<String>> {
    if matches!(parameter.form, Form::Flag) {
        return Some(vec![matches.get_flag(parameter.name).to_string()]);
    }
    let texts = matches.get_many::<String>(parameter.name)?;
    Some(texts.cloned().collect())
}

/// The value of an option that only some probes have.
fn optional<T: Clone + Send + Sync + 'static>(
    is_there: bool,
    matches: &ArgMatches,
    id: &str,
) -> Option<T> {
    let value = is_there.then(|| matches.get_one::<T>(id))?;
    value.cloned()
}
