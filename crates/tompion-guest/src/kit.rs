//! Where the parts of a guest lie on this machine.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::GuestError;

/// Environment variable that names the kit's directory.
pub const KIT_VARIABLE: &str = "TOMPION_GUEST";

/// How to get what is missing.
const REMEDY: &str =
    "run: make lab-guest (or, for tests, make guest), or name its directory by TOMPION_GUEST";
/// The longest of its texts, in bytes.
const MOST_TEXT: u64 = 1 << 20;
/// The kernel of guests that name none.
const USUAL_KERNEL: &str = "cloud";

/// What guests are made of: a directory with
///
/// - `kernel/NAME/vmlinuz`, `vmlinux`, `modules/*.ko`, `modules/needs` and `package`, as
///   `.ci/guest-kernel` leaves them for every kernel;
/// - `bin/tompion-guest-init` and any other programs.
#[derive(Debug, Clone)]
pub struct Kit {
    directory: PathBuf,
    kernel: PathBuf,
    kernel_name: String,
    needs: String,
    init: PathBuf,
}

impl Kit {
    /// Takes the kit in `dir`.
    ///
    /// # Errors
    /// [`GuestError::Kit`] names the first part that is missing.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, GuestError> {
        Self::with(dir.as_ref(), USUAL_KERNEL)
    }

    /// The same with another kernel: `cloud`, `standard` or `rt` (PREEMPT_RT).
    ///
    /// # Errors
    /// [`GuestError::Kit`] if it was not fetched.
    pub fn with_kernel(&self, name: &str) -> Result<Self, GuestError> {
        Self::with(&self.directory, name)
    }

    fn with(directory: &Path, kernel: &str) -> Result<Self, GuestError> {
        let kernels = directory.join("kernel");
        let at = kernels.join(kernel);
        if kernels.is_dir() && kernel != USUAL_KERNEL && !at.is_dir() {
            return Err(GuestError::Kit {
                problem: format!("no kernel {kernel} in {}", kernels.display()),
                remedy: "run: make guest-kernel GUEST_KERNELS=\"cloud standard rt\"",
            });
        }
        let package = text(&at.join("package"))?;
        Ok(Self {
            kernel: present(at.join("vmlinuz"))?.with_file_name(""),
            kernel_name: package.lines().next().unwrap_or_default().to_owned(),
            needs: text(&at.join("modules/needs"))?,
            init: present(directory.join("bin/tompion-guest-init"))?,
            directory: directory.to_path_buf(),
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
        present(self.directory.join("bin").join(name))
    }

    /// Package and version of the kernel, to stand beside results.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The kernel as boot loaders take it.
    pub(super) fn vmlinuz(&self) -> PathBuf {
        self.kernel.join("vmlinuz")
    }

    /// The kernel as microVMs take it.
    pub(super) fn vmlinux(&self) -> Result<PathBuf, GuestError> {
        present(self.kernel.join("vmlinux"))
    }

    pub(super) fn init(&self) -> &Path {
        &self.init
    }

    /// The files to load, in this order, for all of `wanted`.
    pub(super) fn modules(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, GuestError> {
        let mut order: Vec<&str> = Vec::new();
        for &name in wanted {
            let needs = |line: &'_ str| line.split_once(':').is_some_and(|(n, _)| n == name);
            let line = self.needs.lines().find(|line| needs(line));
            let (_, needs) =
                line.and_then(|line| line.split_once(':'))
                    .ok_or_else(|| GuestError::Kit {
                        problem: format!("{} has no module {name}", self.kernel_name),
                        remedy: "use another kernel: standard and rt have all",
                    })?;
            for module in needs.split_whitespace() {
                if !order.contains(&module) {
                    order.push(module);
                }
            }
        }
        let file = |name: &&str| present(self.kernel.join(format!("modules/{name}.ko")));
        order.iter().map(file).collect()
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

/// A file of a few lines.
fn text(path: &Path) -> Result<String, GuestError> {
    let path = present(path.to_owned())?;
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(MOST_TEXT).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => Err(GuestError::Kit {
            problem: format!("cannot read {}: {error}", path.display()),
            remedy: REMEDY,
        }),
    }
}
