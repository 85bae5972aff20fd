//! What a killed run has left.

use std::io::Write;

use anyhow::bail;
use tompion_advise::{Journal, Leftover, Restored};
use tompion_host::Root;
use tompion_model::printable;

use crate::commands::ask::{ask, is_interactive};
use crate::exit;
use crate::output::{OutputOptions, print, print_json};

/// Carries out `--restore`.
pub fn restore(root: &Root, output: OutputOptions) -> exit::Result {
    let nothing = |why: &str| {
        say(
            output,
            &Restored::default(),
            &format!("nothing to put back: {why}\n"),
        )
    };
    if Leftover::find(root)?.is_none() {
        if Journal::has_half_a_record(root) {
            // Opening it removes that. Who may not do so has nothing to do with it.
            let _ = Journal::open(root);
        }
        return nothing("no run was killed in this boot");
    }
    let journal = Journal::open(root)?;
    // Again: whoever had the journal may have put everything back meanwhile.
    match Leftover::find(root)? {
        None => nothing("the run that was at work has ended"),
        Some(left) if left.of_another_boot => {
            discard(left, &journal)?;
            say(output, &Restored::default(), "")
        }
        Some(left) => {
            let restored = left.restore(root, &journal)?;
            say(output, &restored, &in_words(&restored))?;
            require(&restored)
        }
    }
}

fn say(output: OutputOptions, restored: &Restored, text: &str) -> exit::Result {
    if output.json {
        print_json(restored)?;
    } else if !output.quiet {
        print(text)?;
    }
    Ok(0)
}

/// Mentions it before a dry run, which changes nothing.
pub fn mention(root: &Root) -> anyhow::Result<()> {
    if let Some(left) = Leftover::find(root)?.filter(|left| !left.of_another_boot) {
        exit::complain(&format!(
            "note: {}, or is at work just now; `tompion advise --restore` puts them back",
            what(&left)
        ));
    }
    Ok(())
}

/// Deals with it before anything else is tried: with a yes it is put back, without one
/// nothing is tried on top of it.
pub fn settle(root: &Root, journal: Option<&Journal>) -> anyhow::Result<()> {
    let Some(left) = Leftover::find(root)? else {
        return Ok(());
    };
    let Some(journal) = journal else {
        if left.of_another_boot {
            return Ok(());
        }
        bail!(
            "{}, or is at work just now; as root, `tompion advise --restore` puts them back",
            what(&left)
        );
    };
    if left.of_another_boot {
        return discard(left, journal);
    }
    let told = what(&left);
    if !is_interactive() {
        bail!("{told}; `tompion advise --restore` puts them back");
    }
    if !ask(&format!("{told}.\n"), "Put them back?")? {
        bail!("{told}: nothing is tried on top of that; `tompion advise --restore` puts them back");
    }
    let restored = left.restore(root, journal)?;
    // A terminal that has hung up is no reason to stop short.
    let _ = std::io::stderr().write_all(in_words(&restored).as_bytes());
    require(&restored).map(|_| ())
}

fn discard(left: Leftover, journal: &Journal) -> anyhow::Result<()> {
    exit::complain(&format!(
        "note: old values of `{}` are of another boot, which has undone them: discarded",
        left.knob()
    ));
    Ok(left.discard(journal)?)
}

fn what(left: &Leftover) -> String {
    let values = match left.changes() {
        1 => "1 setting".to_owned(),
        n => format!("{n} settings"),
    };
    format!(
        "an earlier run was killed while it tried `{}` and had changed {values} of this machine",
        left.knob()
    )
}

/// An error where something is not back.
fn require(restored: &Restored) -> exit::Result {
    match restored.failed.is_empty() {
        true => Ok(0),
        false => bail!("not put back: {}", restored.failed.join("; ")),
    }
}

fn in_words(restored: &Restored) -> String {
    let mut text = String::new();
    for file in &restored.put_back {
        let (path, value) = (file.path.display(), printable(&file.value));
        text += &format!("put back: {path} is `{value}` again\n");
    }
    for path in &restored.unchanged {
        text += &format!("unchanged: {} had its old value\n", path.display());
    }
    for path in &restored.gone {
        text += &format!("gone: {} is there no more\n", path.display());
    }
    for left in &restored.left_alone {
        text += &format!("left alone: {left}\n");
    }
    text
}
