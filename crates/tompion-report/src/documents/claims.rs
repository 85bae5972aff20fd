//! The register of claims, for a terminal and for machines.

mod detail;
mod findings;
mod json;

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tompion_papers::claims::{Claim, Paper, Standing, Status, coverage, register};

pub use detail::claim_text;
pub use findings::findings_text;
pub use json::{CLAIMS_JSON_VERSION, claim_json, claims_json};

use crate::figures::{capital, plural};

/// Below this width a claim's words stand under its name, not beside it.
const NARROW: usize = 90;

/// What a section without claims says.
const NO_CLAIM: &str = "no claim";

/// Papers of the register with their claims by standing, and what each section claims,
/// for a terminal of `width` columns.
pub fn claims_text(papers: &[&Paper], width: usize) -> String {
    let width = width.max(60);
    let mut out = preamble(papers, width);
    for paper in papers {
        heading(&mut out, &paper.cited().short());
        out.push_str(&wrap(&paper.cited().citation(), width, "", ""));
        list(&mut out, paper, width);
    }
    heading(&mut out, "Coverage: each section and what it claims");
    for paper in papers {
        sections(&mut out, paper, width);
    }
    let about = "`tompion claims PAPER/NAME` shows one claim with its evidence.";
    out.push('\n');
    out.push_str(&wrap(about, width, "", ""));
    out
}

/// How many claims stand how.
fn preamble(papers: &[&Paper], width: usize) -> String {
    let all: Vec<&Claim> = papers.iter().flat_map(|p| &p.claims).collect();
    let shown: Vec<Standing> = Standing::ALL
        .into_iter()
        .filter(|s| all.iter().any(|c| c.standing() == *s))
        .collect();
    let text = format!(
        "{} {} of {} {}. Published figures say whether a paper agrees with its own numbers, no \
         more; reproduced is said only of what a measurement supports, so far of {}.",
        all.len(),
        plural(all.len() as u64, "claim", "claims"),
        papers.len(),
        plural(papers.len() as u64, "paper", "papers"),
        match of(&all, Standing::Reproduced) {
            0 => "none".to_owned(),
            n => n.to_string(),
        }
    );
    let heads = ["Paper", "claims"].into_iter().map(str::to_owned);
    let heads = heads.chain(shown.iter().map(|s| short(*s).to_owned()));
    let row = |name: String, claims: &[&Claim]| {
        let counts = shown.iter().map(|s| of(claims, *s).to_string());
        let first = [name, claims.len().to_string()];
        first.into_iter().chain(counts).collect::<Vec<_>>()
    };
    let mut rows: Vec<Vec<String>> = papers
        .iter()
        .map(|p| row(p.cited().short(), &p.claims.iter().collect::<Vec<_>>()))
        .collect();
    if papers.len() > 1 {
        rows.push(row("all".to_owned(), &all));
    }
    let mut out = wrap(&text, width, "", "");
    out.push_str(&table(heads.collect(), rows, CellAlignment::Right, width));
    out
}

/// The claims among these that stand so.
fn of(claims: &[&Claim], standing: Standing) -> usize {
    claims.iter().filter(|c| c.standing() == standing).count()
}

/// A standing as the head of a column.
fn short(standing: Standing) -> &'static str {
    match standing {
        Standing::Reproduced => "reproduced",
        Standing::Refuted => "refuted",
        Standing::FitsFigures => "fit the figures",
        Standing::ContradictsFigures => "contradict them",
        Standing::HoldsEmulated => "hold emulated",
        Standing::FailsEmulated => "fail emulated",
        Standing::NotDecidableHere => "not decidable",
        Standing::NotYetImplemented => "to come",
    }
}

/// A paper's claims, grouped by how they stand.
fn list(out: &mut String, paper: &Paper, width: usize) {
    let names = paper.claims.iter().map(|c| c.name().len());
    let kinds = paper.claims.iter().map(|c| c.kind.to_string().len());
    let (name, kind) = (names.max().unwrap_or(0), kinds.max().unwrap_or(0));
    for standing in Standing::ALL {
        let claims: Vec<&Claim> = paper
            .claims
            .iter()
            .filter(|c| c.standing() == standing)
            .collect();
        if claims.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n{} ({})",
            capital(&standing.to_string()),
            claims.len()
        );
        for claim in claims {
            let kind_of = claim.kind.to_string();
            let (head, indent) = if width < NARROW {
                let _ = writeln!(out, "  {} ({kind_of})", claim.name());
                ("      ".to_owned(), "      ".to_owned())
            } else {
                let head = format!("  {:<name$}  {kind_of:<kind$}  ", claim.name());
                let indent = " ".repeat(head.len());
                (head, indent)
            };
            out.push_str(&wrap(&claim.claim, width, &head, &indent));
            if let Some(remark) = remark(claim) {
                out.push_str(&wrap(&remark, width, &indent, &indent));
            }
        }
    }
}

/// Why we differ, or what would decide it, where the standing leaves that open, with
/// what an attempt found.
fn remark(claim: &Claim) -> Option<String> {
    match claim.status {
        Status::Supported => None,
        Status::Contradicted => claim.why.as_ref().map(|why| format!("But: {why}")),
        Status::NotDecidableHere | Status::NotYetImplemented => {
            let found = register().finding(claim);
            let found = found.map_or_else(String::new, |f| format!(" Found: {}", f.because));
            Some(format!("Would decide it: {}{found}", claim.decided_by))
        }
    }
}

/// Each section of a paper with its claims.
fn sections(out: &mut String, paper: &Paper, width: usize) {
    let covered = coverage(paper);
    let silent = covered.iter().filter(|c| c.claims.is_empty()).count();
    let _ = write!(
        out,
        "\n{}: {} of {} sections make claims.",
        paper.cited().short(),
        covered.len() - silent,
        covered.len()
    );
    let rows = covered.iter().map(|c| {
        let names: Vec<&str> = c.claims.iter().map(|claim| claim.name()).collect();
        let names = if names.is_empty() {
            NO_CLAIM.to_owned()
        } else {
            names.join(", ")
        };
        vec![c.section.to_owned(), names]
    });
    let heads = vec!["Section".to_owned(), "claims".to_owned()];
    out.push_str(&table(heads, rows.collect(), CellAlignment::Left, width));
}

/// Aligned columns, the first to the left, wrapped to `width`.
fn table(
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    others: CellAlignment,
    width: usize,
) -> String {
    const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(heads.iter().map(Cell::new));
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
        if i > 0 {
            column.set_cell_alignment(others);
        }
    }
    format!("\n{}\n", table.trim_fmt())
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}\n{}", "─".repeat(text.chars().count()));
}

/// `text` wrapped, with a line break at its end.
fn wrap(text: &str, width: usize, first: &str, next: &str) -> String {
    let options = textwrap::Options::new(width)
        .initial_indent(first)
        .subsequent_indent(next)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}
