//! The canonical text of a load.

use std::fmt;

use super::options::{KEY, PEER};
use crate::peer::hello::Peer;

/// The canonical text of a load while its options are added.
pub struct Text {
    text: String,
    with_defaults: bool,
}

impl Text {
    /// The name alone, with the fixed defaults to come or without.
    pub(super) fn new(name: &str, with_defaults: bool) -> Self {
        Self {
            text: name.to_owned(),
            with_defaults,
        }
    }

    /// Whether an option is shown: a fixed default is left out where it goes without saying.
    pub fn shows(&self, is_default: bool) -> bool {
        self.with_defaults || !is_default
    }

    /// Adds an option that has a value.
    pub fn option(&mut self, key: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.text += &format!(":{key}={value}");
        }
    }

    /// Adds a far end. Which file its key is in makes no other load of it.
    pub fn peer(&mut self, peer: Option<&Peer>) {
        self.option(PEER.0, peer.map(|peer| &peer.address));
        let key = peer.and_then(|peer| peer.key.as_ref());
        self.option(
            KEY.0,
            key.filter(|_| self.shows(true))
                .map(|k| k.display().to_string()),
        );
    }

    /// Adds an option without one.
    pub fn flag(&mut self, key: &str) {
        self.text += &format!(":{key}");
    }
    /// The text as it stands.
    pub(super) fn finish(self) -> String {
        self.text
    }
}
