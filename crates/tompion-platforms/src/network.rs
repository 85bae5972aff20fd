//! How an instance is joined to the network of its host.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use tompion_guest::Tap;

use crate::keys::Table;

/// How an instance is joined to the network of its host, where a plan has a testbed: a level of the key `network`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Not at all.
    #[default]
    None,
    /// It has the host's own network.
    Host,
    /// By a pair of devices and a bridge.
    Bridge,
    /// By a device within the host's.
    Macvlan,
    /// A virtual machine, by a tap.
    Tap,
}

impl Network {
    const ALL: [Self; 5] = [
        Self::None,
        Self::Host,
        Self::Bridge,
        Self::Macvlan,
        Self::Tap,
    ];

    /// Its name in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Host => "host",
            Self::Bridge => "bridge",
            Self::Macvlan => "macvlan",
            Self::Tap => "tap",
        }
    }

    /// Whether it is none.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The key `network` of a platform that can have none and these.
    pub(crate) fn read(table: &Table<'_, '_>, can: &[Self]) -> Self {
        let mut names = vec![Self::None.name()];
        names.extend(can.iter().map(|network| network.name()));
        let chosen = table.choice("network", &names);
        let found = Self::ALL.into_iter().find(|n| n.name() == chosen);
        found.unwrap_or_default()
    }

    /// For people to read; nothing where it is none.
    pub(crate) fn in_words(self) -> Option<String> {
        (!self.is_none()).then(|| format!("network by {}", self.name()))
    }
}

/// An instance's place in its host's network, made before it starts. All that it takes is in the network namespace
/// of the thread that runs it.
#[derive(Clone, Debug)]
pub enum Joined {
    /// The network of that thread.
    Host,
    /// A namespace of its own, by the path where it is.
    Namespace(PathBuf),
    /// A tap of the host's, and what the guest is known by on it.
    Tap(Arc<Tap>),
}
