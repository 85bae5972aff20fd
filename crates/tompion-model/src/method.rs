//! What methods say of themselves.

/// How a method comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It reads the CPU's counter.
    Counter,
    /// It reads the kernel's time without entering the kernel.
    Vdso,
    /// It enters the kernel for the time.
    SystemCall,
    /// It reads Tompion's clock.
    OwnClock,
    /// It sleeps in the kernel.
    Sleeps,
    /// It sleeps in the kernel and spins for the rest.
    SleepsThenSpins,
    /// It keeps a CPU to itself.
    Spins,
}

impl Way {
    /// Whether it uses CPU time to be in time.
    pub fn spins(self) -> bool {
        matches!(self, Self::SleepsThenSpins | Self::Spins)
    }
}

/// How closely `tompion check` looks at a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InCheck {
    /// Not at all.
    No,
    /// At the shortest target.
    Once,
    /// At every target.
    EveryTarget,
    /// At every target, and where a check measures no more than its verdicts take.
    Always,
}

/// A method of a probe, as lists, help and reports show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// Name of the probe.
    pub probe: &'static str,
    /// The level of the factor `method`.
    pub name: &'static str,
    /// What it is called on the architectures on which it has another name.
    pub elsewhere: Option<&'static str>,
    /// What it does, in a few words.
    pub about: &'static str,
    /// How it comes to its end.
    pub way: Way,
    /// Whether it waits for absolute deadlines at a period, so that one can be missed.
    pub has_grid: bool,
    /// Whether timer slack acts on it as a setting: the kernel applies it to sleeps and to the
    /// timeouts of polls, not to timers.
    pub has_slack: bool,
    /// Whether its steps are coarse by design: it is no clock for short times.
    pub is_coarse: bool,
    /// How closely `tompion check` looks at it.
    pub in_check: InCheck,
    /// Its place among those that programs use in the same way, the most usual first.
    pub usual: Option<u8>,
}

impl MethodRow {
    /// A method that sleeps in the kernel for a length of time, for others to build on.
    pub const SLEEP: Self = Self {
        probe: "",
        name: "",
        elsewhere: None,
        about: "",
        way: Way::Sleeps,
        has_grid: false,
        has_slack: true,
        is_coarse: false,
        in_check: InCheck::Once,
        usual: None,
    };

    /// A clock that the C library reads without entering the kernel, for others to build on.
    pub const CLOCK: Self = Self {
        way: Way::Vdso,
        has_slack: false,
        ..Self::SLEEP
    };
}
