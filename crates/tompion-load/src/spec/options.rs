//! The options of a load.

use std::path::PathBuf;

use super::values::{PortRule, parse_peer};
use crate::peer::hello::Peer;
use tompion_model::InvalidValue;

/// More threads than this are a typing error rather than a wish.
const MAX_THREADS: u32 = 4096;
/// The key of an option, and what it looks like with a value.
pub type Opt = (&'static str, &'static str);

/// Options that several loads have.
pub const THREADS: Opt = ("threads", "threads=N");
/// Bytes of a block or a file.
pub const SIZE: Opt = ("size", "size=BYTES");
/// The other end.
pub const PEER: Opt = ("peer", "peer=HOST:PORT");
/// The key that both ends have.
pub const KEY: Opt = ("key", "key=FILE");
/// The CPUs that its threads may use.
pub const CPUS: Opt = ("cpus", "cpus=LIST");

/// `key=value` pairs, each key at most once and from a known set.
pub struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    pub(super) fn parse(rest: Option<&'a str>, own: &[Opt]) -> Result<Self, InvalidValue> {
        let known = || own.iter().chain([&CPUS]);
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in rest.into_iter().flat_map(pieces) {
            let expected = || {
                let forms: Vec<_> = known().map(|option| option.1).collect();
                format!("'{part}' should be {}", forms.join(" or "))
            };
            let (key, value) = part.split_once('=').ok_or_else(expected)?;
            if known().all(|option| option.0 != key) || value.is_empty() {
                return Err(expected().into());
            }
            if pairs.iter().any(|(other, _)| *other == key) {
                return Err(format!("{key} is given twice").into());
            }
            pairs.push((key, value));
        }
        Ok(Self(pairs))
    }

    pub fn value<T>(
        &self,
        key: &str,
        parse: impl Fn(&'a str) -> Result<T, InvalidValue>,
    ) -> Result<Option<T>, InvalidValue> {
        let found = self.0.iter().find(|(k, _)| *k == key);
        found.map(|(_, value)| parse(value)).transpose()
    }

    pub fn threads(&self) -> Result<Option<u32>, InvalidValue> {
        self.value(THREADS.0, |value| match value.parse() {
            Ok(threads @ 1..=MAX_THREADS) => Ok(threads),
            _ => Err(
                format!("threads={value} should be a whole number from 1 to {MAX_THREADS}").into(),
            ),
        })
    }

    /// The far end and the key for it.
    pub fn peer(&self) -> Result<Option<Peer>, InvalidValue> {
        let address = self.value(PEER.0, |peer| parse_peer(peer, PortRule::Required))?;
        let key = self.value(KEY.0, |path| match path.starts_with('/') {
            // The load has a directory of its own.
            true => Ok(PathBuf::from(path)),
            false => Err(format!("key={path} should be an absolute path").into()),
        })?;
        match (address, key) {
            (Some(address), key) => Ok(Some(Peer { address, key })),
            (None, Some(_)) => Err("key=FILE is for a peer: peer=HOST:PORT is missing".into()),
            (None, None) => Ok(None),
        }
    }
}

/// Splits at colons, but not at those within a peer or the gaps between packets: what has no `=` belongs to
/// the piece before.
fn pieces(rest: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(rest);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let begins_option = |at: &usize| {
            let after = &text[at + 1..];
            let key = after.split(['=', ':']).next().unwrap_or("");
            after[key.len()..].starts_with('=')
        };
        let has_colons = text.starts_with("peer=") || text.starts_with("gaps=");
        let mut colons = text.match_indices(':').map(|(at, _)| at);
        let end = colons.find(|at| !has_colons || begins_option(at));
        match end {
            Some(end) => {
                rest = Some(&text[end + 1..]);
                Some(&text[..end])
            }
            None => Some(text),
        }
    })
}
