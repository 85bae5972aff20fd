//! A program that the preload library can be tried with.

use std::ffi::OsString;

use tompion_advise::{ProgramRun, Script};
use tompion_launch::{LIBRARIES_VARIABLE, Launch, Library, Program, SETTINGS_VARIABLE, Settings};

/// The first interpreter that sleeps precisely enough and can be reached, with what
/// loads the library into it; or why there is none.
pub fn program() -> Result<ProgramRun, String> {
    let library = Library::installed().map_err(|e| e.to_string())?;
    let settings = Settings {
        hybrid_sleeps: true,
        ..Settings::default()
    };
    let mut problem = "there is no perl or python3 (3.11 or newer) to try it with".to_owned();
    for script in Script::available() {
        let command = [OsString::from(script.program)];
        match Program::find(&command[0]) {
            Ok(program) => {
                let launch = Launch {
                    program: &program,
                    command: &command,
                    preload: &library,
                    settings: &settings,
                };
                let variables = [
                    (LIBRARIES_VARIABLE, launch.libraries()),
                    (SETTINGS_VARIABLE, settings.variable().into()),
                ];
                let preload = variables.map(|(name, value)| (name.into(), value)).into();
                return Ok(ProgramRun { script, preload });
            }
            Err(e) => problem = e.to_string(),
        }
    }
    Err(problem)
}
