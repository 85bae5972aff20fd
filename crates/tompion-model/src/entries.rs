//! How what will grow is listed.

/// Declares a list whose entries have a file each: the modules, one a line, and a slice of
/// what each calls its `ENTRY`, in that order. A further entry is its file and its line.
///
/// ```text
/// tompion_model::entries! {
///     /// All of them, in the order in which they are shown.
///     pub static ALL: [Method] =
///         usleep,
///         nanosleep,
/// }
/// ```
#[macro_export]
macro_rules! entries {
    (
        $(#[$about:meta])*
        $visibility:vis static $list:ident: [$kind:ty] =
        $($(#[$only:meta])* $module:ident,)+
    ) => {
        $($(#[$only])* mod $module;)+

        $(#[$about])*
        $visibility static $list: &[&$kind] = &[$($(#[$only])* &$module::ENTRY,)+];
    };
}
