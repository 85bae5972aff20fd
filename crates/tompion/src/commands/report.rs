//! `tompion report`, and the reporting half of `tompion check`.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tompion_assess::verdict::{Profile, assess_run, profiles as built_in, profiles_of};
use tompion_platforms::platform::KINDS;
use tompion_report::{FORMS, Form, Make, Plots, REPORT_FILE, ReportData, Vocabulary};
use tompion_run::Observe;
use tompion_run::probes::PROBES;
use tompion_store::{Directory, Run, RunWriter, try_whole, write_whole};

use super::profiles::{Required, profiles_in, require_known};
use super::run_names::run_named;
use crate::cli::ReportOptions;
use crate::exit;
use crate::output::{OutputOptions, place, print, print_json, terminal_width, wants_color};

/// Where the page goes.
pub enum Page {
    /// Nowhere.
    None,
    /// To its usual place in the run, where that is the caller's own; if not, nowhere.
    Beside,
    /// To its usual place in a run of the caller's.
    InRun,
    /// To a file that the user names: links and devices too.
    File(PathBuf),
    /// To standard output, in place of anything else.
    StandardOutput,
}

/// What a run is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The uses.
    pub profiles: &'a [Profile],
    /// Names of those that decide the exit status.
    pub required: &'a [&'a str],
}

impl Default for Judged<'static> {
    fn default() -> Self {
        Self::by(built_in())
    }
}

impl<'a> Judged<'a> {
    /// By these, of which none is required.
    pub fn by(profiles: &'a [Profile]) -> Self {
        Self {
            profiles,
            required: &[],
        }
    }
}

/// Carries out the command.
pub fn report(options: &ReportOptions) -> exit::Result {
    let own = options.profiles.as_deref().map(profiles_in).transpose()?;
    if let Some(None) = own {
        return Ok(exit::ERROR);
    }
    let own = own.flatten();
    // Before a long reading.
    if let Some(format) = options.format {
        require_place(options, format.0)?;
    }
    let run = Run::open_tidied(&run_named(&options.run)?)?;
    let named = own.map_or_else(|| kept_by(&run), Ok)?;
    require_known(&named, &options.require)?;
    let (run, profiles) = match options.redact {
        true => without_names(run, &named)?,
        false => (run, named.clone()),
    };
    // They are asked for by their names, whatever these are shown as.
    let shown_as = |text: &String| {
        let required = Required::of(text);
        let place = named.iter().position(|p| p.name == required.profile);
        let name = place.map_or(required.profile, |place| &profiles[place].name);
        Required {
            profile: name,
            ..required
        }
        .to_string()
    };
    let mut required: Vec<String> = Vec::new();
    for text in options.require.iter().map(shown_as) {
        if !required.contains(&text) {
            required.push(text);
        }
    }
    let required: Vec<&str> = required.iter().map(String::as_str).collect();
    let judged = Judged {
        profiles: &profiles,
        required: &required,
    };
    if let Some(format) = options.format {
        return export(options, &run, format.0, judged);
    }
    let page = match &options.html {
        // Who reads JSON asks for no page, and one by other limits does not replace the run's own.
        None if options.output.json || options.profiles.is_some() => Page::None,
        None => Page::Beside,
        Some(file) if file.as_os_str() == "-" => {
            anyhow::ensure!(
                !options.output.json,
                "`--html -` and --json both write to standard output; name a file for the page"
            );
            Page::StandardOutput
        }
        Some(file) => Page::File(file.clone()),
    };
    // A path may name its owner.
    told(
        &run,
        &page,
        options.output,
        judged,
        match options.screen {
            true => Shape::Screen,
            false => Shape::Whole,
        },
        !options.redact,
    )
}

/// What a run is judged by where nothing else is named.
fn kept_by(run: &Run) -> anyhow::Result<Vec<Profile>> {
    let at = run.directory().path().display();
    let kept = profiles_of(&run.record().header.profiles);
    kept.map_err(|why| {
        anyhow::anyhow!("{at}: run.json: profiles: {why}; --profiles FILE names others")
    })
}

/// A run and what it is judged by without what names somebody.
fn without_names(run: Run, named: &[Profile]) -> anyhow::Result<(Run, Vec<Profile>)> {
    let mut shown: Vec<_> = named.iter().map(Profile::kept).collect();
    let run = tompion_report::redacted(run, vocabulary(), &mut shown);
    let profiles = profiles_of(&shown).map_err(|why| anyhow::anyhow!("--redact: {why}"))?;
    Ok((run, profiles))
}

/// What nobody is named by.
fn vocabulary() -> Vocabulary {
    Vocabulary {
        probes: PROBES.iter().map(|probe| probe.name).collect(),
        loads: tompion_load::loads().map(|load| load.name).collect(),
        load_options: tompion_load::loads()
            .flat_map(|load| load.option_keys())
            .collect(),
        observations: Observe::ALL.map(Observe::name).to_vec(),
        platforms: KINDS.iter().map(|kind| kind.name).collect(),
        uses: built_in()
            .iter()
            .flat_map(|known| [known.name.as_str(), known.title.as_str()])
            .collect(),
    }
}

/// What a run holds and means.
fn gather(run: &Run, profiles: &[Profile]) -> anyhow::Result<ReportData> {
    let trials = &run.record().trials;
    Ok(ReportData::gather(run, |cells| {
        assess_run(profiles, cells, trials)
    })?)
}

/// Refuses places that a form cannot be written to, and what does not go with it.
fn require_place(options: &ReportOptions, form: &Form) -> anyhow::Result<()> {
    match form.make {
        Make::Text(_) => {
            if let Some(file) = options.out.as_ref().filter(|file| file.as_os_str() != "-") {
                try_whole(file)?;
            }
        }
        // Their exit status says whether they were written.
        Make::Plots(..) | Make::Run if !options.require.is_empty() => anyhow::bail!(
            "--require judges a report or a form of text; leave it out with --format {}",
            form.name
        ),
        Make::Plots(extension, _) => {
            Directory::try_make(place_of_plots(options, extension)?)?;
        }
        Make::Run => {
            anyhow::ensure!(
                options.profiles.is_none(),
                "--profiles judges, and a copy of a run keeps what it was judged by; leave it out with --format {}",
                form.name
            );
            RunWriter::try_create(place_of_run(options)?)?;
        }
    }
    Ok(())
}

fn place_of_run(options: &ReportOptions) -> anyhow::Result<&Path> {
    let out = options.out.as_deref();
    out.context("--format run writes a run directory: name it with --out DIR")
}

fn place_of_plots<'o>(options: &'o ReportOptions, extension: &str) -> anyhow::Result<&'o Path> {
    options.out.as_deref().with_context(|| {
        format!(
            "--format {extension} makes a file for each plot: name a directory for them with --out DIR"
        )
    })
}

/// The report in one other form.
fn export(options: &ReportOptions, run: &Run, form: &Form, judged: Judged<'_>) -> exit::Result {
    let profiles = judged.profiles;
    match form.make {
        Make::Text(make) => {
            let data = gather(run, profiles)?;
            let text = make(&data);
            match &options.out {
                None => print(&text)?,
                Some(file) if file.as_os_str() == "-" => print(&text)?,
                Some(file) => write_whole(file, text.as_bytes())?,
            }
            Ok(status_of(&data, judged.required))
        }
        Make::Plots(extension, make) => plots(options, run, extension, make, profiles),
        Make::Run => copy(options, run),
    }
}

/// The run in another directory.
fn copy(options: &ReportOptions, run: &Run) -> exit::Result {
    let directory = place_of_run(options)?;
    RunWriter::copy(run, directory)?;
    if !options.output.quiet {
        print(&format!("run in {}\n", place(directory)))?;
    }
    Ok(0)
}

/// Each plot as a file of its own.
fn plots(
    options: &ReportOptions,
    run: &Run,
    extension: &str,
    make: fn(&ReportData) -> Plots<'_>,
    profiles: &[Profile],
) -> exit::Result {
    let data = gather(run, profiles)?;
    let directory = Directory::make(place_of_plots(options, extension)?)?;
    let plots: Vec<_> = make(&data).collect::<Result<_, _>>()?;
    refuse_others(&directory, &plots.iter().map(|p| p.name.as_str()).collect())?;
    for plot in &plots {
        directory.put(&plot.name, &plot.content)?;
    }
    let written = plots.len();
    if !options.output.quiet {
        print(&format!("{written} plots in {}\n", place(directory.path())))?;
    }
    Ok(0)
}

/// Refuses a directory with plots that would not be written anew: among those of a
/// redacted run, for example, they would be taken for some of them.
fn refuse_others(directory: &Directory, names: &BTreeSet<&str>) -> anyhow::Result<()> {
    let at = directory.path().display();
    let there = directory.names();
    let there = there.with_context(|| format!("{at}: cannot be listed"))?;
    let is_plot = |name: &str| {
        FORMS.iter().any(|form| match form.make {
            Make::Plots(extension, _) => name.ends_with(&format!(".{extension}")),
            Make::Text(_) | Make::Run => false,
        })
    };
    let is_other = |name: &String| is_plot(name) && !names.contains(name.as_str());
    if let Some(other) = there.into_iter().filter(is_other).min() {
        anyhow::bail!("{at}: holds {other}, which is no plot of this run; choose another --out");
    }
    Ok(())
}

/// Writes the page of a run, prints what was chosen and returns the exit
/// status for the required profiles. Where the page cannot be written the rest
/// is printed all the same before the error.
pub fn make(
    run: &Run,
    page: &Page,
    output: OutputOptions,
    judged: Judged<'_>,
    shape: Shape,
) -> exit::Result {
    told(run, page, output, judged, shape, true)
}

/// The same, where wished without the places of run and page.
fn told(
    run: &Run,
    page: &Page,
    output: OutputOptions,
    judged: Judged<'_>,
    shape: Shape,
    with_places: bool,
) -> exit::Result {
    let directory = run.directory();
    let data = gather(run, judged.profiles)?;
    let file = match page {
        Page::None => None,
        Page::File(file) => Some(file.clone()),
        Page::Beside | Page::InRun => Some(directory.path().join(REPORT_FILE)),
        Page::StandardOutput => {
            print(&tompion_report::html(&data))?;
            return Ok(status_of(&data, judged.required));
        }
    };
    let written = match (page, &file) {
        // Nothing is told that was not asked for alone.
        (Page::File(file), _) => {
            write_whole(file, tompion_report::html(&data).as_bytes())?;
            Ok(())
        }
        (_, Some(_)) => directory
            .require_own()
            .and_then(|()| directory.put(REPORT_FILE, tompion_report::html(&data).as_bytes())),
        (_, None) => Ok(()),
    };
    if output.json {
        print_json(&tompion_report::JsonSummary::of(&data))?;
    } else if !output.quiet {
        let whole = required_lines(&data, judged, true);
        let is_much = shape == Shape::Screen && whole.lines().count() > MOST_REQUIRED;
        let required = match is_much {
            true => required_lines(&data, judged, false),
            false => whole,
        };
        let mut text = match shape {
            Shape::Screen => {
                let further = required.lines().count().saturating_sub(1);
                screen(&data, further + exit::rows_told())
            }
            Shape::Whole => summary(&data),
        };
        if let (Some(file), true, true) = (&file, written.is_ok(), with_places) {
            text.push_str(&format!("\nReport: {}", place(file)));
        }
        if with_places {
            text.push_str(&format!("\nRun:    {}", place(directory.path())));
        }
        text.push_str(&required);
        print(&format!("{text}\n"))?;
    }
    match (written, page) {
        // The run may be somebody else's; the page was not what was asked for.
        (Err(error), Page::Beside) => exit::complain(&format!(
            "warning: {error}; the page is not written, --html FILE writes it elsewhere"
        )),
        (written, _) => written?,
    }
    Ok(status_of(&data, judged.required))
}

/// The exit status for the required profiles.
fn status_of(data: &ReportData, required: &[&str]) -> u8 {
    let assessment = data.assessment();
    exit::of_outcomes(required.iter().flat_map(|text| {
        let required = Required::of(text);
        let judged = assessment.profiles.iter();
        let judged = judged.filter(move |p| p.name == required.profile);
        judged.map(move |p| required.outcome(p))
    }))
}

/// So many lines of a screen tell of required profiles with their reasons, the empty one before them included.
const MOST_REQUIRED: usize = 9;

/// A line for each required profile, broken where a terminal would break it; with the reasons where wished.
fn required_lines(data: &ReportData, judged: Judged<'_>, with_reasons: bool) -> String {
    let verdicts = &data.assessment().profiles;
    let loads: BTreeSet<&str> = verdicts
        .iter()
        .flat_map(|p| p.by_load.iter().map(|l| l.load.as_str()))
        .collect();
    let loads: Vec<&str> = loads.into_iter().collect();
    let mut lines = String::new();
    for text in judged.required {
        let required = Required::of(text);
        let mut known = judged.profiles.iter();
        let Some(profile) = known.find(|p| p.name == required.profile) else {
            continue;
        };
        for verdict in verdicts.iter().filter(|p| p.name == required.profile) {
            let line = required.in_a_line(verdict, profile, &loads, with_reasons);
            lines.push('\n');
            lines.push_str(&match std::io::stdout().is_terminal() {
                true => textwrap::fill(
                    &line,
                    textwrap::Options::new(terminal_width()).subsequent_indent("  "),
                ),
                false => line,
            });
        }
    }
    lines
}

/// How much a terminal is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// The answer, on one screen.
    Screen,
    /// Everything.
    #[default]
    Whole,
}

/// The answer on one screen, with room for so many lines below.
fn screen(data: &ReportData, below: usize) -> String {
    tompion_report::answer(data, terminal_width(), wants_color(), below)
}

fn summary(data: &ReportData) -> String {
    tompion_report::terminal(data, terminal_width(), wants_color())
}
