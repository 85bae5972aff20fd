//! A key that both ends of a load have: proved by a challenge and HMAC-SHA-256 (RFC 2104), never
//! sent and never recorded.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use nix::libc::O_NONBLOCK;
use sha2::Sha256;
use tompion_model::Unavailable;

/// The shortest key, in bytes: 128 bits, if they are random.
const SHORTEST: usize = 16;
/// The longest that is read.
const LONGEST: u64 = 4096;

/// A key, as a file holds it.
pub struct Key(Vec<u8>);

// Never shown.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// Reads it: [`read_key`].
    ///
    /// # Errors
    /// In one line: no such file, one that others may read or that is another user's, a short or a very long one.
    pub fn read(path: &Path) -> Result<Self, Unavailable> {
        read_key(path).map(Self)
    }

    fn code(&self, what: &str) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        code.update(what.as_bytes());
        code
    }

    /// What shows that one has it.
    pub fn proof(&self, what: &str) -> String {
        hexadecimal(&self.code(what).finalize().into_bytes())
    }

    /// Whether somebody has shown so; takes as long for any other answer.
    pub fn is_proved(&self, what: &str, proof: &str) -> bool {
        bytes_of(proof).is_some_and(|bytes| self.code(what).verify_slice(&bytes).is_ok())
    }
}

/// Reads a key that two ends have, without blanks and line ends around it.
///
/// # Errors
/// In one line: no such file, one that others may read or that is another user's, a short or a very long one.
pub fn read_key(path: &Path) -> Result<Vec<u8>, Unavailable> {
    let at = || format!("the key {}", path.display());
    // A pipe would keep us waiting for its writer.
    let options = OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .clone();
    let file = options.open(path).map_err(Unavailable::refused(at()))?;
    let found = file.metadata().map_err(Unavailable::refused(at()))?;
    if !found.is_file() {
        return Err(format!("{} is no file", at()).into());
    }
    let own = nix::unistd::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        let owner = found.uid();
        return Err(format!(
            "{} belongs to user {owner}, who can read it: chown it",
            at()
        )
        .into());
    }
    if found.mode() & 0o077 != 0 {
        let mode = found.mode() & 0o7777;
        return Err(format!(
            "{} can be read by others (mode {mode:04o}): chmod 600",
            at()
        )
        .into());
    }
    let mut bytes = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(Unavailable::refused(at()))?;
    let bytes = bytes.trim_ascii().to_vec();
    match bytes.len() {
        SHORTEST..=4096 => Ok(bytes),
        length => Err(format!(
            "{} has {length} bytes, {SHORTEST} to {LONGEST} are wanted: \
             head -c 32 /dev/urandom | base64 > KEY makes one",
            at()
        )
        .into()),
    }
}

/// A number that nobody can foresee, as text.
///
/// # Errors
/// Where the kernel has none.
pub fn nonce() -> Result<String, Unavailable> {
    let mut bytes = [0; 16];
    // It takes no descriptor, of which clients may have taken the last.
    getrandom::fill(&mut bytes).map_err(|why| format!("random numbers: {why}"))?;
    Ok(hexadecimal(&bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let one = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    text.is_ascii().then(|| pairs.map(one).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_proof_is_that_of_rfc_4231() {
        let key = Key(b"Jefe".to_vec());
        let proof = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(key.proof("what do ya want for nothing?"), proof);
        assert!(key.is_proved("what do ya want for nothing?", proof));
        for other in ["", "5b", "zz", &proof[1..], &proof.replace('5', "6"), "é"] {
            assert!(
                !key.is_proved("what do ya want for nothing?", other),
                "{other}"
            );
        }
    }

    #[test]
    fn a_key_is_long_enough_and_nobody_else_s() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        let read = |content: &[u8], mode| {
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Key::read(&path).map(|key| key.0).map_err(|e| e.to_string())
        };
        assert_eq!(
            read(b" 0123456789abcdef\n", 0o600).unwrap(),
            b"0123456789abcdef"
        );
        assert!(
            read(b"0123456789abcde\n", 0o600)
                .unwrap_err()
                .contains("15 bytes")
        );
        assert!(
            read(&[b'x'; 5000], 0o600)
                .unwrap_err()
                .contains("4097 bytes")
        );
        assert!(
            read(b"0123456789abcdef", 0o640)
                .unwrap_err()
                .contains("chmod 600")
        );
        // Only root can give a file away.
        read(b"0123456789abcdef", 0o600).unwrap();
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            let error = Key::read(&path).unwrap_err().to_string();
            assert!(error.contains("belongs to user 65534"), "{error}");
        }
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = Key::read(&pipe).unwrap_err().to_string();
        assert!(error.contains("is no file"), "{error}");
        let error = Key::read(&place.path().join("none"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("none") && !error.contains('\n'), "{error}");
        assert_ne!(nonce().unwrap(), nonce().unwrap());
    }
}
