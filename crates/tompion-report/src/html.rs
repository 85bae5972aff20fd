//! One self-contained page: nothing from elsewhere, and whole without its script.

mod among;
mod budget;
mod clock;
#[cfg(test)]
mod colors;
mod distributions;
mod environment;
pub(crate) mod figure;
mod lost;
mod measurements;
mod platforms;
mod stalls;
mod tables;
mod timer_events;
mod verdict;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use crate::data::ReportData;
use crate::sections::{probe_title, sections};

/// Colours as variables, and everything but plots.
pub(crate) const STYLE: &str = include_str!("html/style.css");

const SCRIPT: &str = include_str!("html/script.js");

/// The factors of every cell by its number, for the script; no markup can come of it.
fn cells(data: &ReportData) -> String {
    let all: Vec<_> = data.cells().iter().map(|c| &c.factors).collect();
    let text = serde_json::to_string(&all).unwrap_or_else(|_| "[]".to_owned());
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// The page as text. It loads nothing; its script only adds to what is there.
pub fn html(data: &ReportData) -> String {
    let sections = sections(data);
    let mut probes: Vec<&str> = sections.iter().map(|s| s.probe).collect();
    probes.dedup();
    let host = &data.record().header.environment.hostname;
    let title = if host.is_empty() {
        "Tompion report".to_owned()
    } else {
        format!("Tompion report: {host}")
    };
    let (among, budget) = (among::section(data), budget::section(data));
    let platforms = platforms::section(data);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                // An icon of its own keeps browsers from asking a server for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(crate::plot::STYLE)) }
            }
            body {
                (contents(&probes, [&platforms, &among, &budget].map(|s| !s.0.is_empty())))
                main {
                    (verdict::header(data))
                    // What a lab is for comes before what each platform is good for.
                    (platforms)
                    (verdict::profiles(data))
                    (verdict::findings(data))
                    (verdict::advice(data))
                    (among)
                    (budget)
                    (clock::section(data))
                    @for (i, probe) in probes.iter().enumerate() {
                        (measurements::probe(data, i, probe, sections.iter().filter(|s| s.probe == *probe)))
                    }
                    (environment::loads(data))
                    (environment::machine(data))
                    (environment::limits(data))
                    (environment::again(data))
                }
                script type="application/json" id="cells" { (PreEscaped(cells(data))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Every figure of the page in its order.
pub(crate) fn figures(data: &ReportData) -> Vec<figure::Figure> {
    let mut figures = among::all(data);
    for section in &sections(data) {
        figures.extend(measurements::figures(section));
    }
    figures
}

fn contents(probes: &[&str], [platforms, among, budget]: [bool; 3]) -> Markup {
    markup! {
        nav aria-label="Contents" {
            @if platforms { a href="#platforms" { "Platforms" } }
            a href="#verdict" { "Verdict" }
            a href="#hurts" { "What hurts" }
            a href="#advice" { "Advice" }
            @if among { a href="#among" { "Among others" } }
            @if budget { a href="#budget" { "Packet budget" } }
            a href="#clock" { "Clock" }
            @for (i, probe) in probes.iter().enumerate() {
                a href={ "#probe-" (i) } { (probe_title(probe)) }
            }
            a href="#loads" { "Loads" }
            a href="#machine" { "Machine" }
            a href="#limits" { "Limitations" }
            a href="#again" { "Run it again" }
        }
    }
}
