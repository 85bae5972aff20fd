//! What must hold in a register, one line a mistake.

use std::collections::BTreeSet;

use crate::claims::{
    Basis, Claim, Evidence, Mistake, Outcome, Paper, Register, SCHEMA_VERSION, Source, Status,
};

/// Everything that is wrong with a register.
pub(crate) fn validate(register: &Register) -> Vec<Mistake> {
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    for paper in &register.papers {
        if !ids.insert(&*paper.id) {
            found.push(Mistake::new(&paper.id, "a second paper of this name"));
        }
        of_paper(paper, &mut found);
        for claim in &paper.claims {
            let mut say = |what: String| found.push(Mistake::new(&claim.id, what));
            if !ids.insert(&*claim.id) {
                say("a second claim of this name".to_owned());
            }
            of_claim(claim, paper, &mut say);
            of_status(claim, &mut say);
            against_evidence(register, claim, &mut say);
        }
    }
    for (file, evidence) in &register.evidence {
        let mut say = |what: String| found.push(Mistake::new(file, what));
        of_evidence(register, file, evidence, &mut say);
    }
    found
}

/// Lower-case letters, digits and single hyphens between them.
fn is_slug(text: &str) -> bool {
    let part = |p: &str| {
        !p.is_empty()
            && p.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    text.split('-').all(part)
}

fn of_paper(paper: &Paper, found: &mut Vec<Mistake>) {
    let mut say = |what: &str| found.push(Mistake::new(&paper.id, what));
    if crate::published::paper(&paper.id).is_none() {
        let known = crate::published::papers().iter().map(|p| &*p.id);
        let known = known.collect::<Vec<_>>().join(", ");
        say(&format!(
            "no paper of this id is among the published ones: {known}"
        ));
    }
    if paper.sections.is_empty() {
        say("`sections` is empty: list all sections of the paper");
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = paper.sections.iter().find(|s| !seen.insert(*s)) {
        say(&format!("section `{twice}` is listed twice"));
    }
}

/// What each claim must have by itself.
fn of_claim(claim: &Claim, paper: &Paper, say: &mut impl FnMut(String)) {
    if claim.paper() != paper.id || !is_slug(claim.name()) {
        say(format!(
            "the id must be `{}/` and a name of lower-case letters, digits and hyphens",
            paper.id
        ));
    }
    if claim.places.is_empty() {
        say("`places` is empty: name the sections that make the claim".to_owned());
    }
    let mut seen = BTreeSet::new();
    for place in &claim.places {
        if !paper.sections.contains(place) {
            say(format!(
                "`{place}` is not among the sections of {}",
                paper.id
            ));
        } else if !seen.insert(place) {
            say(format!("place `{place}` is listed twice"));
        }
    }
    let sentences = [("claim", &claim.claim), ("decided_by", &claim.decided_by)];
    for (field, text) in sentences {
        if !text.trim_end().ends_with('.') {
            say(format!(
                "`{field}` must be a sentence and end with a full stop"
            ));
        }
    }
    if claim.decides.plan.trim().is_empty() {
        say("`decides.plan` is empty".to_owned());
    }
    let on_tables = claim.decides.probe == crate::claims::Probe::PublishedTable;
    if on_tables != (claim.basis == Basis::PublishedTable) {
        say("probe and basis must both be published-table, or neither".to_owned());
    }
}

/// What each status asks for.
fn of_status(claim: &Claim, say: &mut impl FnMut(String)) {
    let decided = matches!(claim.status, Status::Supported | Status::Contradicted);
    if decided && claim.evidence.is_none() {
        say(format!("status {} needs `evidence`", claim.status));
    }
    if decided && !claim.decides.probe.is_present() {
        say(format!(
            "probe {} is still to come and cannot have decided it",
            claim.decides.probe
        ));
    }
    if claim.status == Status::NotYetImplemented && claim.evidence.is_some() {
        say("status not-yet-implemented cannot have `evidence`".to_owned());
    }
    if claim.status == Status::Contradicted && claim.why.is_none() {
        say("status contradicted needs `why`: where we differ and why".to_owned());
    }
    if claim.basis == Basis::Emulation {
        match claim.hardware_speed {
            None => say("basis emulation needs `hardware_speed = true` or `false`".to_owned()),
            Some(true) if decided => {
                say("emulation alone never decides a claim about the speed of hardware".to_owned())
            }
            Some(_) => {}
        }
    } else if claim.hardware_speed.is_some() {
        say("`hardware_speed` belongs to basis emulation only".to_owned());
    }
}

/// A claim must agree with the evidence that it names.
fn against_evidence(register: &Register, claim: &Claim, say: &mut impl FnMut(String)) {
    let Some(file) = &claim.evidence else {
        return;
    };
    let Some(evidence) = register.evidence(claim) else {
        return say(format!("there is no claims/evidence/{file}"));
    };
    let basis = match &evidence.source {
        Source::Published { .. } => Basis::PublishedTable,
        Source::Runs { emulated: true, .. } => Basis::Emulation,
        Source::Runs { .. } => Basis::Measurement,
    };
    if basis != claim.basis {
        say(format!(
            "its basis is {}, that of {file} is {basis}",
            claim.basis
        ));
    }
    let mut of_claim = evidence.findings.iter().filter(|f| f.claim == claim.id);
    match (of_claim.next(), of_claim.next()) {
        (None, _) => say(format!("{file} has no finding about it")),
        (_, Some(_)) => say(format!("{file} has more than one finding about it")),
        (Some(f), None) if f.outcome.status() != claim.status => say(format!(
            "its status is {}, {file} makes it {}",
            claim.status,
            f.outcome.status()
        )),
        _ => {}
    }
}

/// What each evidence file must have by itself.
fn of_evidence(register: &Register, file: &str, found: &Evidence, say: &mut impl FnMut(String)) {
    if found.schema_version != SCHEMA_VERSION {
        say(format!(
            "schema_version {} is not ours, which is {SCHEMA_VERSION}",
            found.schema_version
        ));
    }
    if found.command.trim().is_empty() || found.tompion_version.trim().is_empty() {
        say("`command` and `tompion_version` must be given".to_owned());
    }
    match &found.source {
        Source::Published { tables } if tables.is_empty() => {
            say("`tables` is empty: name the figures it rests on".to_owned());
        }
        Source::Runs { runs, .. } if runs.is_empty() => {
            say("`runs` is empty: name the runs it rests on".to_owned());
        }
        Source::Runs { runs, .. } => {
            let is_hash = |h: &str| h.len() == 64 && h.bytes().all(|b| b.is_ascii_hexdigit());
            if let Some(odd) = runs.iter().find(|r| !is_hash(&r.run_json_sha256)) {
                say(format!(
                    "`{}` is no SHA-256 in hexadecimal",
                    odd.run_json_sha256
                ));
            }
        }
        Source::Published { .. } => {}
    }
    for finding in &found.findings {
        let id = &finding.claim;
        match register.claim(id) {
            None => say(format!("there is no claim `{id}`")),
            Some(c) if c.evidence.as_deref() != Some(file) => {
                say(format!("claim {id} does not name it as its evidence"));
            }
            Some(c) if c.paper() != found.paper => {
                say(format!("claim {id} is not of paper {}", found.paper));
            }
            Some(_) => {}
        }
        if finding.because.trim().is_empty() || finding.effects.is_empty() {
            say(format!(
                "the finding about {id} needs `because` and an effect"
            ));
        }
        for effect in &finding.effects {
            let bad_p = effect.p.is_some_and(|p| !(0.0..=1.0).contains(&p));
            let bad_interval = effect
                .interval
                .is_some_and(|i| i.low.is_nan() || i.low > i.high);
            if bad_p || bad_interval || !effect.value.is_finite() {
                say(format!(
                    "claim {id}: `{}` has an impossible number",
                    effect.what
                ));
            }
            if effect.p.is_some() && effect.method.is_none() {
                say(format!(
                    "claim {id}: `{}` has a p without its test",
                    effect.what
                ));
            }
        }
        let by_chance = finding.outcome != Outcome::NotDecidable
            && matches!(found.source, Source::Runs { .. })
            && finding
                .effects
                .iter()
                .all(|e| e.interval.is_none() && e.p.is_none());
        if by_chance {
            say(format!(
                "claim {id}: a run decides by an interval or a p, it has neither"
            ));
        }
    }
}
