//! Files in memory without a name, for another process to open.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file that vanishes with the last process that holds it, however that ends.
pub struct MemoryFile {
    /// The file itself.
    pub file: File,
}

impl MemoryFile {
    /// An empty file; `name` only shows in /proc.
    pub fn new(name: &str) -> io::Result<Self> {
        let file = File::from(memfd_create(name, MFdFlags::MFD_CLOEXEC)?);
        Ok(Self { file })
    }

    /// A path by which children of this process can open the file.
    ///
    /// Through this process's own entry in /proc, so that no descriptor has to be
    /// inherited: other children started meanwhile get none.
    pub fn path(&self) -> String {
        path_of(&self.file)
    }
}

/// The same for any file that this process holds open.
pub fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}
