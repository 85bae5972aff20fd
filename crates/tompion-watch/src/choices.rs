//! What can be switched, and what is chosen.

/// What there is to choose from; none of the lists may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Loads by name.
    pub loads: Vec<String>,
    /// Wake-up methods by name.
    pub methods: Vec<String>,
    /// Sleep targets in words, for example `100us`.
    pub targets: Vec<String>,
    /// CPUs to pin the measuring thread to; `None` leaves it free.
    pub cpus: Vec<Option<u32>>,
}

/// One choice of each, by its place in [`Choices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The load.
    pub load: usize,
    /// The wake-up method.
    pub method: usize,
    /// The sleep target.
    pub target: usize,
    /// The CPU.
    pub cpu: usize,
}

impl Choices {
    /// The name of the load that is chosen.
    pub fn load(&self, setting: Setting) -> &str {
        &self.loads[setting.load]
    }

    /// The name of the method that is chosen.
    pub fn method(&self, setting: Setting) -> &str {
        &self.methods[setting.method]
    }

    /// The target that is chosen, in words.
    pub fn target(&self, setting: Setting) -> &str {
        &self.targets[setting.target]
    }

    /// The CPU that is chosen, in words.
    pub fn cpu(&self, setting: Setting) -> String {
        match self.cpus[setting.cpu] {
            Some(cpu) => format!("CPU {cpu}"),
            None => "any CPU".to_owned(),
        }
    }
}
