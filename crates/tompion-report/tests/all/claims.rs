//! The register of claims as it is printed.

use tompion_papers::claims::{Paper, Standing, register};
use tompion_report::{claim_text, claims_text};

fn all() -> Vec<&'static Paper> {
    register().papers.iter().collect()
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [60, 72, 89, 90, 100, 140] {
        let mut texts = vec![claims_text(&all(), width)];
        let claims = register().claims();
        texts.extend(claims.map(|c| claim_text(register(), c, width)));
        for line in texts.iter().flat_map(|t| t.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn claims_stand_under_their_paper_and_standing_in_columns() {
    let text = claims_text(&all(), 100);
    let register_part = text.split("Coverage:").next().unwrap();
    let papers: Vec<&str> = register().papers.iter().map(|p| &*p.id).collect();
    let mut rest = register_part;
    for paper in papers.iter().map(|id| register().paper(id).unwrap()) {
        let head = format!("\n{}\n─", paper.cited().short());
        rest = &rest[rest.find(&head).expect("its heading, after the one before")..];
        let mut here = rest;
        let mut starts = Vec::new();
        for standing in Standing::ALL {
            let claims = paper.claims.iter().filter(|c| c.standing() == standing);
            for claim in claims {
                let line = format!("\n  {} ", claim.name());
                let at = here
                    .find(&line)
                    .unwrap_or_else(|| panic!("{} in order", claim.id));
                here = &here[at + 1..];
                let row = here.lines().next().unwrap();
                let words = claim.claim.split(' ').next().unwrap();
                starts.push(row.rfind(&format!("  {words}")).expect("its first word"));
            }
        }
        let first = starts[0];
        assert!(
            starts.iter().all(|s| *s == first),
            "{}: one column",
            paper.id
        );
    }
}

#[test]
fn a_difference_says_why_and_what_is_open_what_would_decide_it() {
    // Lines also break at hyphens, so compare without any space.
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let all = dense(&claims_text(&all(), 140));
    for claim in register().claims() {
        let told = match (&claim.why, claim.standing()) {
            (Some(why), _) => format!("But: {why}"),
            (None, Standing::NotDecidableHere | Standing::NotYetImplemented) => {
                let found = register().finding(claim);
                let found = found.map_or_else(String::new, |f| format!("Found: {}", f.because));
                format!("Would decide it: {}{found}", claim.decided_by)
            }
            _ => continue,
        };
        assert!(all.contains(&dense(&told)), "{}", claim.id);
    }
}
