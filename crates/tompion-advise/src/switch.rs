//! Switching one remedy on, and off whatever happens.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use tompion_host::Root;

use crate::recovery::undo;
use crate::{Change, Journal, LeftAlone, Ready, files};

/// Why a remedy is not on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The system does not allow it; says what it would take.
    NotAllowed(String),
    /// Someone else works on the same value.
    Interfered(LeftAlone),
}

/// One remedy at a time, on or off. Dropping it switches off.
pub struct Switch<'a> {
    root: &'a Root,
    journal: Option<&'a Journal>,
    /// The remedy that is on.
    knob: String,
    /// What is changed just now.
    changed: Vec<Change>,
    /// Those of them that took their value.
    taken: Vec<PathBuf>,
    held: Option<File>,
    /// The list of processes to go back to.
    left: Option<PathBuf>,
}

impl<'a> Switch<'a> {
    /// Nothing is on. Without a journal no file is ever changed.
    pub fn new(root: &'a Root, journal: Option<&'a Journal>) -> Self {
        Self {
            root,
            journal,
            knob: String::new(),
            changed: Vec::new(),
            taken: Vec::new(),
            held: None,
            left: None,
        }
    }

    /// Switches on what lies outside of the measuring thread; returns which of several
    /// files did not take their value, and why.
    ///
    /// # Errors
    /// If the system does not allow it or someone else has changed a value; all is as
    /// it was then.
    pub fn on(&mut self, knob: &str, ready: &Ready) -> Result<Vec<String>, Refusal> {
        let done = self.write(knob, &ready.files).and_then(|left_out| {
            self.hold(ready)?;
            self.join(ready)?;
            Ok(left_out)
        });
        if done.is_err() {
            // The first problem is the one to tell.
            let _ = self.off();
        }
        done
    }

    fn write(&mut self, knob: &str, changes: &[Change]) -> Result<Vec<String>, Refusal> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let refuse = |why: String| Err(Refusal::NotAllowed(why));
        for change in changes {
            match files::read(self.root, &change.path) {
                Ok(found) if files::same(&found, &change.old) => {}
                Ok(found) => {
                    return Err(Refusal::Interfered(LeftAlone {
                        path: change.path.clone(),
                        found,
                        old: change.old.clone(),
                    }));
                }
                Err(e) => return refuse(files::why(&change.path, &e)),
            }
        }
        let Some(journal) = self.journal else {
            return refuse("needs root, to keep the old value under /run".to_owned());
        };
        if let Err(e) = journal.save(knob, changes) {
            return refuse(e.to_string());
        }
        knob.clone_into(&mut self.knob);
        self.changed = changes.to_vec();
        self.taken.clear();
        let mut problems = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let path = &change.path;
            let written = files::write(self.root, path, &change.new);
            match written.and_then(|()| files::read(self.root, path)) {
                Ok(now) if files::same(&now, &change.new) => self.taken.push(path.clone()),
                Ok(now) => {
                    if !files::same(&now, &change.old) {
                        // The kernel made of it what it will: that is ours to undo.
                        self.changed[at].new = now.clone();
                        let _ = journal.save(knob, &self.changed);
                    }
                    let (path, new) = (path.display(), &change.new);
                    let text = format!("{path}: the kernel did not take `{new}`, it says `{now}`");
                    problems.push(text);
                }
                Err(e) => {
                    problems.push(files::why(path, &e));
                }
            }
        }
        match problems.first() {
            Some(why) if self.taken.is_empty() => refuse(why.clone()),
            _ => Ok(problems),
        }
    }

    fn hold(&mut self, ready: &Ready) -> Result<(), Refusal> {
        let Some((path, bytes)) = &ready.held else {
            return Ok(());
        };
        let held = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(self.root.path(path))?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let file = held().map_err(|e| Refusal::NotAllowed(files::why(path, &e)))?;
        self.held = Some(file);
        Ok(())
    }

    fn join(&mut self, ready: &Ready) -> Result<(), Refusal> {
        let Some((to, from)) = &ready.joined else {
            return Ok(());
        };
        files::write(self.root, to, &own_pid())
            .map_err(|e| Refusal::NotAllowed(files::why(to, &e)))?;
        self.left = Some(from.clone());
        Ok(())
    }

    /// Switches off; returns what someone else has changed meanwhile.
    ///
    /// # Errors
    /// What could not be put back, and why. The journal keeps it.
    pub fn off(&mut self) -> Result<Vec<LeftAlone>, String> {
        self.held = None;
        let mut problems = Vec::new();
        if let Some(from) = self.left.take()
            && let Err(e) = files::write(self.root, &from, &own_pid())
        {
            problems.push(files::why(&from, &e));
        }
        let changed = std::mem::take(&mut self.changed);
        let Some(journal) = self.journal.filter(|_| !changed.is_empty()) else {
            return none_of(problems).map(|()| Vec::new());
        };
        let restored = undo(self.root, journal, &self.knob, changed.clone());
        problems.extend(restored.failed);
        none_of(problems)?;
        journal.clear().map_err(|e| e.to_string())?;
        let mut left_alone = restored.left_alone;
        // On without our knowing when it was no more.
        let set_back = changed.into_iter().filter(|change| {
            self.taken.contains(&change.path) && restored.unchanged.contains(&change.path)
        });
        left_alone.extend(set_back.map(|change| LeftAlone {
            path: change.path,
            found: change.old.clone(),
            old: change.old,
        }));
        Ok(left_alone)
    }
}

fn none_of(problems: Vec<String>) -> Result<(), String> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join("; ")),
    }
}

impl Drop for Switch<'_> {
    fn drop(&mut self) {
        // After an error or a panic: what cannot be put back stays in the journal.
        let _ = self.off();
    }
}

fn own_pid() -> String {
    std::process::id().to_string()
}

#[cfg(test)]
mod tests;
