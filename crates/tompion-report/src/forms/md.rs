//! `md`: Markdown for a ticket (GitHub's tables), without plots.

use tompion_model::is_printable;

use super::{Form, Make};
use crate::blocks::{Block, Content, Entry, Item, Media, Table, shown, word};
use crate::data::ReportData;
use crate::remarks::Remarks;
use crate::sections::SECTIONS;

pub(super) static ENTRY: Form = Form {
    name: "md",
    about: "Markdown for a ticket, without plots",
    make: Make::Text(markdown),
};

/// The report of a run as Markdown.
pub fn markdown(data: &ReportData) -> String {
    let mut out = String::new();
    for section in SECTIONS {
        let blocks = (section.blocks)(data);
        if shown(&blocks, Media::TEXT).next().is_none() {
            continue;
        }
        if !section.title.is_empty() {
            out.push_str(&format!("## {}\n\n", plain(section.title)));
        }
        each(&mut out, &blocks);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn each(out: &mut String, blocks: &[Block<'_>]) {
    for content in shown(blocks, Media::TEXT) {
        block(out, content);
    }
}

fn block(out: &mut String, content: &Content<'_>) {
    let mut paragraph = |text: String| out.push_str(&format!("{text}\n\n"));
    match content {
        Content::Answer(sentences) => {
            paragraph(format!("# {}", plain(&sentences[0])));
            sentences[1..].iter().for_each(|s| paragraph(plain(s)));
        }
        Content::Alert(title, sentence) => {
            paragraph(format!("**{}**: {}", plain(title), plain(sentence)));
        }
        Content::Warning(text) => paragraph(format!("**{}**", plain(text))),
        Content::Judged(judged) => {
            let line = |(outcome, text): &(_, String)| format!("{}: {text}", word(*outcome));
            list(out, judged.iter().map(|j| plain(&line(j))));
        }
        Content::Heading(text) => paragraph(format!("### {}", plain(text))),
        Content::Subheading(text) => paragraph(format!("#### {}", plain(text))),
        Content::Text(text) | Content::Lead(text) | Content::Note(text) => paragraph(plain(text)),
        Content::Facts(facts) => paragraph(plain(&facts.join(", "))),
        Content::List(items) => list(out, items.iter().map(|item| plain(item))),
        Content::Pairs(pairs) => list(out, pairs.iter().map(|pair| plain(&labelled(pair)))),
        Content::Tiles(tiles) => list(
            out,
            tiles
                .iter()
                .map(|t| plain(&format!("{}: {} ({})", t.what, t.value, t.of))),
        ),
        Content::Items(_, items) => {
            let items = items.iter().filter(|item| item.media.has(Media::TEXT));
            list(out, items.map(item));
        }
        Content::Table(table) => self::table(out, table),
        // Plots are files of their own.
        Content::Figures(..) => {}
        Content::Characters(draw) => {
            paragraph(code(&draw(80).unwrap_or_default()));
        }
        Content::Code(text) => paragraph(code(text)),
        Content::Cards(cards) => {
            let line = |(title, blocks): &(String, Vec<Block<'_>>)| {
                let content = shown(blocks, Media::TEXT).flat_map(sentences);
                let content: Vec<String> = content.map(|s| plain(&s)).collect();
                format!("**{}**: {}", plain(title), content.join("; "))
            };
            list(out, cards.iter().map(line));
        }
        Content::Part { title, blocks, .. } => {
            if let Some(title) = title {
                paragraph(format!("### {}", plain(title)));
            }
            each(out, blocks);
        }
        Content::Fold { title, blocks, .. } => {
            paragraph(format!("#### {}", plain(title)));
            each(out, blocks);
        }
    }
}

fn labelled((label, value): &(String, String)) -> String {
    format!("{label}: {value}")
}

/// What a card says, for one line.
fn sentences(content: &Content<'_>) -> Vec<String> {
    match content {
        Content::Text(text) | Content::Lead(text) | Content::Note(text) => vec![text.clone()],
        Content::List(items) => items.clone(),
        Content::Pairs(pairs) => pairs.iter().map(labelled).collect(),
        _ => Vec::new(),
    }
}

fn list(out: &mut String, items: impl Iterator<Item = String>) {
    for item in items {
        out.push_str(&format!("- {item}\n"));
    }
    out.push('\n');
}

fn item(item: &Item) -> String {
    let mut text = format!("{}: {}", item.figure, item.text);
    if let Some(how) = &item.how {
        text.push_str(&format!(" How: {how}."));
    }
    for (label, more) in &item.more {
        match *label {
            "" => text.push_str(&format!(" ({more})")),
            label => text.push_str(&format!(" {label}: {more}.")),
        }
    }
    plain(&text)
}

fn code(text: &str) -> String {
    let lines = text.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A table with a row for each group of columns; what groups, or headings between rows, say
/// is a column.
fn table(out: &mut String, table: &Table) {
    let of_text = |(_, column): &(usize, &crate::blocks::Column)| column.media.has(Media::TEXT);
    let columns: Vec<_> = table.columns.iter().enumerate().filter(of_text).collect();
    let headed = table.rows.iter().any(|r| r.is_heading());
    let by = (headed || !table.groups.is_empty()).then_some(table.by);
    let mut heads = vec![(table.head.as_str(), true)];
    heads.extend(by.map(|by| (by, true)));
    heads.extend(columns.iter().map(|(_, c)| (c.title.as_str(), c.words)));
    line(out, heads.iter().map(|h| plain(h.0)));
    let rule = |h: &(&str, bool)| if h.1 { "---" } else { "---:" }.to_owned();
    line(out, heads.iter().map(rule));
    let remarks = Remarks::of(table, Media::TEXT);
    let entry = |entry: &Entry| match entry {
        Entry::Remarked(text, remark) => format!("{text}{}", remarks.sign(remark)),
        other => other.line(),
    };
    let mut heading = String::new();
    for row in table.rows.iter().filter(|r| r.media.has(Media::TEXT)) {
        if row.is_heading() {
            heading = row.label.line();
            continue;
        }
        for group in 0..table.groups.len().max(1) {
            let cells = &row.cells[group * table.columns.len()..];
            let nothing = |i: &usize| matches!(cells[*i], Entry::None);
            // A method that was not measured under a load has no row there.
            if table.groups.len() > 1 && columns.iter().all(|(i, _)| nothing(i)) {
                continue;
            }
            let mut entries = vec![plain(&row.label.line())];
            let by = by.map(|_| table.groups.get(group).unwrap_or(&heading));
            entries.extend(by.map(|by| plain(by)));
            entries.extend(columns.iter().map(|(i, _)| plain(&entry(&cells[*i]))));
            line(out, entries.into_iter());
        }
    }
    out.push('\n');
    for line in remarks.lines() {
        out.push_str(&format!("{}\n\n", plain(&line)));
    }
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}

/// Text that Markdown does not take for markup, and that mentions nobody, refers to nothing and links
/// nowhere where it is shown: whoever made the run would speak by whoever shows it. Escapes do not help
/// against that, since what looks for names and addresses goes by what is shown; a space does.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    // Whether the word so far may be a path.
    let mut has_slash = false;
    while let Some(c) = rest.next() {
        has_slash = !c.is_whitespace() && (has_slash || c == '/');
        match c {
            '\n' | '\r' => out.push(' '),
            c if !is_printable(c) => out.push('\u{fffd}'),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => {
                // GitLab's form of a project, `group/project>`.
                if has_slash {
                    out.push(' ');
                }
                out.push_str("&gt;");
            }
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        let after = rest.as_str();
        let begins = match c {
            '@' => after.starts_with(|c: char| c.is_alphanumeric() || "_.".contains(c)),
            // An issue, of this project or, as in `torvalds/linux#1`, of another.
            // On GitLab merge requests, milestones, snippets and epics, too.
            '#' | '!' | '$' | '&' => after.starts_with(|c: char| c.is_ascii_digit() || c == '"'),
            // By their names, too.
            '%' | '~' => after.starts_with(|c: char| c.is_alphanumeric() || "_\"".contains(c)),
            '*' => after.starts_with("iteration:"),
            // `[vulnerability:1]` and its like, and a page of the wiki.
            '[' => {
                let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
                after.starts_with('[') || after.trim_start_matches(is_name).starts_with(':')
            }
            // What forges and their bots take for a command, at the beginning of a line.
            '/' => out.len() == 1 && after.starts_with(|c: char| c.is_alphanumeric()),
            // Other forms of it, and what GitHub has of vulnerabilities.
            '-' => {
                let ends = |with: &str| {
                    let behind = out.len().saturating_sub(with.len());
                    out.as_bytes()[behind..].eq_ignore_ascii_case(with.as_bytes())
                };
                ["gh-", "gl-", "cve-", "ghsa-"].into_iter().any(ends)
                    && after.starts_with(|c: char| c.is_ascii_alphanumeric())
            }
            ':' => after.starts_with("//"),
            '.' => {
                let behind = out.len().saturating_sub("www.".len());
                out.as_bytes()[behind..].eq_ignore_ascii_case(b"www.")
            }
            _ => false,
        };
        if begins {
            out.push(' ');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_text_of_a_run_mentions_nobody_and_links_nowhere() {
        for (text, shown) in [
            ("@team and a@b.example", "@ team and a@ b.example"),
            ("see http://x.example/a", "see http: //x.example/a"),
            ("HTTPS://x", "HTTPS: //x"),
            ("at WWW.x.example, www.y", "at WWW. x.example, www. y"),
            (
                "linus/linux#1, #1 SMP @0",
                "linus/linux\\# 1, \\# 1 SMP @ 0",
            ),
            ("evil/x-#1, @_team", "evil/x-\\# 1, @ \\_team"),
            ("/close", "/ close"),
            ("a /b", "a /b"),
            ("std::time, 12:30 and 50 %", "std::time, 12:30 and 50 %"),
            ("\u{1f642}www.x", "\u{1f642}www. x"),
            ("!12, %3, $4 and R&5", "! 12, % 3, $ 4 and R&amp; 5"),
            ("!12, %3, $4 and R&5", "! 12, % 3, $ 4 and R&amp; 5"),
            (
                "GH-1, gh-22, GL-3, @.x and SIGH",
                "GH- 1, gh- 22, GL- 3, @ .x and SIGH",
            ),
            (
                "CVE-2021-44228, ghsa-jfh8-c2jp-5v3q",
                "CVE- 2021-44228, ghsa- jfh8-c2jp-5v3q",
            ),
            ("%v1.0, %\"1 0\", ~bug", "% v1.0, % \"1 0\", \\~ bug"),
            ("org/proj> and a > b", "org/proj &gt; and a &gt; b"),
            (
                "[vulnerability:1], [[page]], *iteration:1",
                "\\[ vulnerability:1\\], \\[ \\[page\\]\\], \\* iteration:1",
            ),
            ("[x](y) <b>*", "\\[x\\](y) &lt;b&gt;\\*"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }

    #[test]
    fn what_turns_or_hides_text_is_seen_in_markdown() {
        assert_eq!(
            plain("a\u{202e}b\u{200b}c\u{3164}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}"
        );
    }
}
