//! `html`: one page that needs nothing from elsewhere, and is whole without its script.

#[cfg(test)]
mod colors;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use super::{Form, Make};
use crate::blocks::{Block, Content, Figure, Item, Items, Key, Layout, Media, shown};
use crate::data::ReportData;
use crate::figures::{count, plural};
use crate::sections::{Question, SECTIONS, Section};

pub(super) static ENTRY: Form = Form {
    name: "html",
    about: "Self-contained HTML report",
    make: Make::Text(html),
};

/// Colours as variables, and everything but plots.
pub(crate) const STYLE: &str = include_str!("html/style.css");

const SCRIPT: &str = include_str!("html/script.js");

/// The page as text. It loads nothing; its script only adds to what is there.
pub fn html(data: &ReportData) -> String {
    let host = &data.record().header.environment.hostname;
    let title = if host.is_empty() {
        "Tompion report".to_owned()
    } else {
        format!("Tompion report: {host}")
    };
    // Blocks of thousands of cells take more than their text: those of one section at a time.
    let mut sections: Vec<(Option<Question>, Markup)> = Vec::new();
    for section in SECTIONS {
        let said = (*section, (section.blocks)(data));
        if shown(&said.1, Media::PAGE).next().is_some() {
            let text = match section.question {
                None => on_sheet(&said),
                Some(_) => folded(&said),
            };
            sections.push((section.question, text));
        }
    }
    let mut under = |question: Option<Question>| {
        let of = |(asked, _): &mut (Option<Question>, Markup)| *asked == question;
        sections.extract_if(.., of).collect::<Vec<_>>()
    };
    let sheet = under(None);
    let questions = Question::ALL.map(|question| (question, under(Some(question))));
    let questions = questions.into_iter().filter(|q| !q.1.is_empty());
    let questions: Vec<_> = questions.collect();
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
                nav aria-label="Contents" {
                    a href="#sheet" { "Summary" }
                    @for (q, _) in &questions { a href={ "#" (q.anchor()) } { (q.title()) } }
                }
                main {
                    div.sheet id="sheet" { @for (_, said) in sheet { (said) } }
                    // Each goes as soon as it stands in the page.
                    @for (q, sections) in questions {
                        section.question id=(q.anchor()) {
                            h2 { (q.title()) }
                            @for (_, said) in sections { (said) }
                        }
                    }
                }
                script type="application/json" id="cells" { (PreEscaped(cells(data))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The factors of every cell by its number, for the script; no markup can come of it.
fn cells(data: &ReportData) -> String {
    let all: Vec<_> = data.cells().iter().map(|c| &c.factors).collect();
    let text = serde_json::to_string(&all).unwrap_or_else(|_| "[]".to_owned());
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// A section with what it says.
type Said<'a> = (&'static Section, Vec<Block<'a>>);

/// What stands on the first sheet; only there are titles of cards next to the page's own.
fn on_sheet((section, blocks): &Said<'_>) -> Markup {
    let contents = shown(blocks, Media::PAGE);
    let contents = contents.map(|content| match content {
        Content::Cards(cards) => markup! {
            div.groups {
                @for (title, blocks) in cards { div.card { h2.minor { (title) } (each(blocks)) } }
            }
        },
        content => block(content),
    });
    markup! {
        @if section.title.is_empty() {
            header id=(section.name) {
                p.brand { "Tompion" span { " timing report" } }
                @for content in contents { (content) }
            }
        } @else {
            section id=(section.name) aria-label=(section.title) {
                @for content in contents { (content) }
            }
        }
    }
}

/// A section under its question, folded, with how much there is to unfold.
fn folded((section, blocks): &Said<'_>) -> Markup {
    let inside = inside(blocks);
    markup! {
        details.section id=(section.name) {
            summary {
                h3 { (section.title) }
                @if !inside.is_empty() { span.inside { (inside) } }
            }
            (each(blocks))
        }
    }
}

/// For example `3 tables, 12 plots`.
fn inside(blocks: &[Block<'_>]) -> String {
    fn add(blocks: &[Block<'_>], tables: &mut u64, plots: &mut u64) {
        for content in shown(blocks, Media::PAGE) {
            match content {
                Content::Table(_) => *tables += 1,
                Content::Figures(_, figures) => *plots += figures.len() as u64,
                Content::Part { blocks, .. } | Content::Fold { blocks, .. } => {
                    add(blocks, tables, plots);
                }
                _ => {}
            }
        }
    }
    let (mut tables, mut plots) = (0, 0);
    add(blocks, &mut tables, &mut plots);
    let of = |n: u64, one, many| (n > 0).then(|| format!("{} {}", count(n), plural(n, one, many)));
    let all = [of(tables, "table", "tables"), of(plots, "plot", "plots")];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn each(blocks: &[Block<'_>]) -> Markup {
    markup! { @for content in shown(blocks, Media::PAGE) { (block(content)) } }
}

fn block(content: &Content<'_>) -> Markup {
    match content {
        Content::Answer(sentences) => markup! {
            h1 { (sentences[0]) }
            @for sentence in &sentences[1..] { p.answer { (sentence) } }
        },
        Content::Alert(title, sentence) => markup! {
            p.banner { b { "⚠ " (title) ". " } (sentence) }
        },
        Content::Warning(text) => markup! { p.banner { (text) } },
        Content::Judged(judged) => markup! {
            ul.small { @for (outcome, text) in judged { li { (table::badge(*outcome)) " " (text) } } }
        },
        Content::Heading(text) => markup! { h3.minor { (text) } },
        Content::Subheading(text) => markup! { h4 { (text) } },
        Content::Text(text) => markup! { p { (text) } },
        Content::Lead(text) => markup! { p.lead { (text) } },
        Content::Note(text) => markup! { p.small { (text) } },
        Content::Facts(facts) => markup! { p.meta { @for fact in facts { span { (fact) } } } },
        Content::List(items) => markup! { ul.small { @for item in items { li { (item) } } } },
        Content::Pairs(pairs) => markup! {
            dl.pairs { @for (label, value) in pairs { div { dt { (label) } dd { (value) } } } }
        },
        Content::Tiles(tiles) => markup! {
            dl.tiles {
                @for tile in tiles {
                    div { dt { (tile.what) } dd { b { (tile.value) } span { (tile.of) } } }
                }
            }
        },
        Content::Items(Items::Ranked, items) => markup! {
            ol.findings {
                @for item in items.iter().filter(|i| i.media.has(Media::PAGE)) {
                    li { b.ratio { (item.figure) } div { p { (item.text) } (more(item)) } }
                }
            }
        },
        Content::Items(Items::Cards, items) => markup! {
            div.cards {
                @for item in items.iter().filter(|i| i.media.has(Media::PAGE)) {
                    article.card.idle[!item.sure] {
                        p.change { b { (item.figure) } }
                        p { (item.text) }
                        (more(item))
                    }
                }
            }
        },
        Content::Table(table) => table::table(table),
        Content::Figures(layout, figures) => match layout {
            Layout::SideBySide => markup! { div.figures { @for f in figures { (figure(f)) } } },
            Layout::Two => markup! { div.figures.two { @for f in figures { (figure(f)) } } },
            Layout::Ranges => markup! { div.figures.ranges { @for f in figures { (figure(f)) } } },
            Layout::Below => markup! { @for f in figures { (figure(f)) } },
        },
        Content::Characters(draw) => markup! { pre { (draw(80).unwrap_or_default()) } },
        Content::Code(text) => markup! { pre { code { (text) } } },
        Content::Cards(cards) => markup! {
            div.groups {
                @for (title, blocks) in cards {
                    div.card { h3.minor { (title) } (each(blocks)) }
                }
            }
        },
        Content::Part {
            anchor,
            title,
            blocks,
        } => markup! {
            div.part id=(anchor) { @if let Some(title) = title { h3 { (title) } } (each(blocks)) }
        },
        Content::Fold {
            title,
            open,
            blocks,
        } => markup! { details open[*open] { summary { (title) } (each(blocks)) } },
    }
}

/// What to type, and further figures.
fn more(item: &Item) -> Markup {
    markup! {
        @if let Some(how) = &item.how { pre { code { (how) } } }
        @for (label, text) in &item.more {
            p.small { @if !label.is_empty() { b { (label) ": " } } (text) }
        }
    }
}

fn figure(figure: &Figure<'_>) -> Markup {
    markup! {
        figure.wide[figure.wide] {
            h4 { (figure.title) }
            @match figure.drawn() {
                // A container that scrolls on narrow screens.
                Ok(svg) => div.scroll tabindex="0" { (PreEscaped(svg)) },
                Err(e) => p.banner { "This plot could not be drawn: " (e) },
            }
            @if !figure.keys.is_empty() || !figure.notes.is_empty() {
                figcaption {
                    @if let Some(values) = figure.values { p.means { (values) } }
                    @if !figure.keys.is_empty() {
                        ul.legend { @for key in &figure.keys { (legend(key)) } }
                    }
                    @for note in &figure.notes { p { (note) } }
                }
            }
        }
    }
}

fn legend(key: &Key) -> Markup {
    markup! {
        li data-s=[key.series] {
            svg.key viewBox="0 0 30 10" aria-hidden="true" {
                path class=(key.classes()) d=(key.path()) {}
            }
            span { (key.label) }
            @if let Some(value) = &key.value { span.mean { (value) } }
        }
    }
}
