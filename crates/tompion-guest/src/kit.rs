//! Where the parts of a guest lie on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::GuestError;

/// Environment variable that names the kit's directory.
pub const KIT_VARIABLE: &str = "TOMPION_GUEST";

/// How to get what is missing.
const REMEDY: &str = "run: make guest";

/// What guests are made of: a directory with
///
/// - `kernel/vmlinuz`, `kernel/modules/*.ko`, `kernel/modules/order` and
///   `kernel/package`, as `.ci/guest-kernel` leaves them;
/// - `bin/tompion-guest-init` and any other programs.
#[derive(Debug, Clone)]
pub struct Kit {
    kernel: PathBuf,
    kernel_name: String,
    modules: Vec<PathBuf>,
    init: PathBuf,
    programs: PathBuf,
}

impl Kit {
    /// Takes the kit in `dir`.
    ///
    /// # Errors
    /// [`GuestError::Kit`] names the first part that is missing.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, GuestError> {
        let kernel_dir = dir.as_ref().join("kernel");
        let programs = dir.as_ref().join("bin");
        let kernel = present(kernel_dir.join("vmlinuz"))?;
        let init = present(programs.join("tompion-guest-init"))?;
        let package = text(&kernel_dir.join("package"))?;
        let modules = text(&kernel_dir.join("modules/order"))?
            .lines()
            .map(|name| present(kernel_dir.join(format!("modules/{name}.ko"))))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            kernel,
            kernel_name: package.lines().next().unwrap_or_default().to_owned(),
            modules,
            init,
            programs,
        })
    }

    /// Takes the kit in the directory that [`KIT_VARIABLE`] names.
    ///
    /// # Errors
    /// [`GuestError::Kit`] if the variable is not set, or as [`Kit::open`].
    pub fn from_env() -> Result<Self, GuestError> {
        match std::env::var_os(KIT_VARIABLE) {
            Some(dir) => Self::open(PathBuf::from(dir)),
            None => Err(GuestError::Kit {
                problem: format!("{KIT_VARIABLE} does not name the directory of the guest kernel"),
                remedy: REMEDY,
            }),
        }
    }

    /// The program `name` of this kit.
    ///
    /// # Errors
    /// [`GuestError::Kit`] if there is none.
    pub fn program(&self, name: &str) -> Result<PathBuf, GuestError> {
        present(self.programs.join(name))
    }

    /// Package and version of the kernel, to stand beside results.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    pub(super) fn kernel(&self) -> &Path {
        &self.kernel
    }

    pub(super) fn init(&self) -> &Path {
        &self.init
    }

    /// The modules to load, in this order.
    pub(super) fn modules(&self) -> &[PathBuf] {
        &self.modules
    }
}

fn present(path: PathBuf) -> Result<PathBuf, GuestError> {
    if path.is_file() {
        Ok(path)
    } else {
        Err(GuestError::Kit {
            problem: format!("no file {}", path.display()),
            remedy: REMEDY,
        })
    }
}

fn text(path: &Path) -> Result<String, GuestError> {
    fs::read_to_string(path).map_err(|error| GuestError::Kit {
        problem: format!("cannot read {}: {error}", path.display()),
        remedy: REMEDY,
    })
}
