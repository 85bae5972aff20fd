//! Files written whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::{Error, Result};

/// Writes `path` through a temporary file in the same directory, which is
/// synced and then renamed; whatever stood there before survives a failure.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".tmp-")
        .tempfile_in(directory)
        .map_err(Error::io(path, "creating a temporary file beside it"))?;
    {
        let mut buffered = BufWriter::new(temporary.as_file_mut());
        fill(&mut buffered)?;
        buffered.flush().map_err(Error::io(path, "writing"))?;
    }
    let file = temporary.as_file();
    // Temporary files are private; a run is for its user's usual readers.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o644))
            .map_err(Error::io(path, "setting permissions"))?;
    }
    file.sync_all().map_err(Error::io(path, "syncing"))?;
    temporary
        .persist(path)
        .map_err(|e| Error::io(path, "renaming")(e.error))?;
    File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(Error::io(directory, "syncing"))
}
