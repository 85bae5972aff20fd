//! Names that are not known, and those that were meant.

/// The name most like `wrong`, where one is like it at all.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const ALIKE: f64 = 0.8;
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wrong, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// That there is no `what` called `wrong`, with the name that was meant, or with all there are.
pub fn unknown_name<'n>(
    what: &str,
    wrong: &str,
    names: impl IntoIterator<Item = &'n str> + Clone,
) -> String {
    match nearest(wrong, names.clone()) {
        Some(better) => format!("unknown {what} `{wrong}`; did you mean `{better}`?"),
        None => {
            let known: Vec<&str> = names.into_iter().collect();
            format!("unknown {what} `{wrong}`; known are {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_mistypes_a_name_is_told_the_one_that_was_meant() {
        let names = ["usleep", "nanosleep", "timerfd"];
        let of = |wrong: &str| unknown_name("method", wrong, names);
        assert_eq!(
            of("usleeep"),
            "unknown method `usleeep`; did you mean `usleep`?"
        );
        assert_eq!(
            of("epoll"),
            "unknown method `epoll`; known are usleep, nanosleep, timerfd"
        );
        assert_eq!(nearest("timer", names), Some("timerfd"));
    }
}
