//! `tompion claims`: what the papers claim, and how each claim stands.

mod decide;

use anyhow::bail;
use tompion_papers::claims::{Paper, Register, register};
use tompion_report::{claim_json, claim_text, claims_json, claims_text};

use super::run_names::run_named;
use crate::cli::ClaimsOptions;
use crate::exit;
use crate::output::{print, print_json, terminal_width};

/// Carries out the command.
pub fn claims(options: &ClaimsOptions) -> exit::Result {
    if let Some(run) = &options.decide {
        return decide::decide(&run_named(run)?, options);
    }
    let register = register();
    let name = options.name.as_deref();
    if let Some(claim) = name.and_then(|n| register.claim(n)) {
        if options.json {
            print_json(&claim_json(register, claim))?;
        } else {
            print(&claim_text(register, claim, terminal_width()))?;
        }
        return Ok(0);
    }
    let papers: Vec<&Paper> = match name {
        None => register.papers.iter().collect(),
        Some(name) => match register.paper(name) {
            Some(paper) => vec![paper],
            None => bail!(unknown(register, name)),
        },
    };
    if options.json {
        print_json(&claims_json(register, &papers))?;
    } else {
        print(&claims_text(&papers, terminal_width()))?;
    }
    Ok(0)
}

/// What is known instead of `name`.
fn unknown(register: &Register, name: &str) -> String {
    let of = name.split_once('/').and_then(|(p, _)| register.paper(p));
    match of {
        Some(paper) => format!(
            "{} has no claim `{name}`; `tompion claims {}` lists its claims",
            paper.cited().short(),
            paper.id
        ),
        None => {
            let known: Vec<&str> = register.papers.iter().map(|p| &*p.id).collect();
            format!("no paper `{name}`; the register has {}", known.join(", "))
        }
    }
}
