//! A name for the machine from which its machine-id cannot be had.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::root::Root;

/// Tompion among the programs that derive ids so.
const APPLICATION: u128 = 0x57f49bb841754498bc5419607e2087cf;

/// The id of this machine for Tompion: HMAC-SHA256 of a constant of Tompion's, keyed with
/// /etc/machine-id, its first 16 bytes as a UUID of version 4 and without hyphens. This is
/// what `systemd-id128 machine-id --app-specific=57f49bb841754498bc5419607e2087cf`
/// prints (sd_id128_get_machine_app_specific(3)).
pub fn machine_id(root: &Root) -> Option<String> {
    let text = root.text("/etc/machine-id")?;
    let digits = text.trim();
    let key = u128::from_str_radix(digits, 16).ok()?;
    // 32 digits, and nothing that stands for "not set yet".
    if digits.len() != 32 || digits.starts_with('+') || key == 0 {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(&key.to_be_bytes()).ok()?;
    mac.update(&APPLICATION.to_be_bytes());
    let whole: [u8; 32] = mac.finalize().into_bytes().into();
    let (first, _) = whole.split_at(16);
    let mut id: [u8; 16] = first.try_into().ok()?;
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    Some(format!("{:032x}", u128::from_be_bytes(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &str) -> Option<String> {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("etc")).unwrap();
        std::fs::write(place.path().join("etc/machine-id"), content).unwrap();
        machine_id(&Root::at(place.path()))
    }

    #[test]
    fn the_id_is_what_systemd_derives() {
        // By Python's hmac; `systemd-id128` on a machine of this id agrees.
        let want = "edbe1a8d4977494783329609daffb5e3";
        let id = of("0123456789abcdef0123456789abcdef\n");
        assert_eq!(id.as_deref(), Some(want));
    }

    #[test]
    fn a_file_that_holds_no_id_gives_none() {
        for content in [
            "",
            "uninitialized\n",
            "0123",
            "+0123456789abcdef0123456789abcde",
        ] {
            assert_eq!(of(content), None, "{content:?}");
        }
        assert_eq!(of(&"0".repeat(32)), None);
    }
}
