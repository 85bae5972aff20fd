//! A made-up file system root for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed at the end.
pub struct Tree(PathBuf);

impl Tree {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let n = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tompion-time-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Creates or replaces a file's content, keeping its inode.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Replaces the first bytes without ever making the file shorter.
    pub fn overwrite(&self, path: &str, content: &[u8]) {
        use std::os::unix::fs::FileExt;
        let file = fs::OpenOptions::new().write(true).open(self.0.join(path));
        file.unwrap().write_all_at(content, 0).unwrap();
    }

    /// Sets `current_clocksource`.
    pub fn clocksource(&self, content: &str) {
        let path = super::clocksource::current_path(Path::new(""));
        self.write(path.to_str().unwrap(), content);
    }

    pub fn remove_clocksource(&self) {
        fs::remove_file(super::clocksource::current_path(&self.0)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A vmclock page as a hypervisor offers that states no time, only the marker.
pub fn vmclock_page(marker: u64) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[0..4].copy_from_slice(b"VCLK");
    page[4..8].copy_from_slice(&4096u32.to_le_bytes());
    page[8] = 1;
    page[10] = 255;
    page[12..16].copy_from_slice(&4u32.to_le_bytes());
    page[16..24].copy_from_slice(&marker.to_le_bytes());
    page
}
