//! Which key is whose.

use super::config::{ControlLimits, SharedKey, Trust};
use super::counters::Silence;
use crate::key::Key;
use crate::packet::{RequestFields, is_authentic};

impl Trust {
    fn shared(&self, index: Option<usize>) -> Option<&SharedKey> {
        match self {
            Self::Anybody { .. } => None,
            Self::Keyed(keys) => keys.get(index?),
        }
    }

    /// The key of base packets.
    pub(super) fn base_key(&self, index: Option<usize>) -> Option<&Key> {
        self.shared(index).map(|shared| &shared.key)
    }

    /// The key of TLVs.
    pub(super) fn tlv_key(&self, index: Option<usize>) -> Option<&Key> {
        match self {
            Self::Anybody { tlv_key } => tlv_key.as_ref(),
            Self::Keyed(_) => self.base_key(index),
        }
    }

    /// What who has the key may ask for.
    pub(super) fn control_limits(&self, index: Option<usize>) -> Option<&ControlLimits> {
        self.shared(index)?.control.as_ref()
    }

    /// Whether anybody who has a key may ask for anything.
    pub(super) fn grants_any(&self) -> bool {
        match self {
            Self::Anybody { .. } => false,
            Self::Keyed(keys) => keys.iter().any(|shared| shared.control.is_some()),
        }
    }

    /// The key of a request whose tag is right; none where nobody needs one.
    pub(super) fn key_of(
        &self,
        request: &RequestFields,
        datagram: &[u8],
    ) -> Result<Option<usize>, Silence> {
        let Self::Keyed(keys) = self else {
            return Ok(None);
        };
        let of = |ssid| keys.iter().position(|shared| shared.ssid == ssid);
        let index = of(Some(request.ssid)).or_else(|| of(None));
        let index = index.ok_or(Silence::NoKey)?;
        if !is_authentic(&keys[index].key, datagram) {
            return Err(Silence::WrongTag);
        }
        Ok(Some(index))
    }
}
