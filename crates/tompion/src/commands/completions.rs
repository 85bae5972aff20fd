//! `tompion completions`: what clap makes of the option definitions, and where a run is meant, those that were
//! kept.
//!
//! The shell asks `tompion runs --names` for them, which tells names that have a meaning in no shell. Names of
//! directories are left to the shell's own rules, or quoted.

use std::fmt::Write;

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;

use crate::cli::{self, CompletionOptions};
use crate::exit;
use crate::output::print;

/// What an argument is called that takes a run.
const RUN: &str = "RUN";

/// Stands for runs in what clap writes; nothing of ours takes a host.
const HINT: ValueHint = ValueHint::Hostname;

/// Prints the completions of one shell.
pub fn completions(options: &CompletionOptions) -> exit::Result {
    print(&script(options.shell))?;
    Ok(0)
}

fn script(shell: Shell) -> String {
    let mut command = hinted(cli::command());
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "tompion", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let takers = takers(&command);
    match shell {
        Shell::Bash => bash(&text, &takers),
        Shell::Zsh => zsh(&text),
        Shell::Fish => fish(&text, &takers),
        _ => text,
    }
}

/// A command that takes a run.
#[derive(Debug)]
struct Taker {
    /// Its words, for example `lab summary`.
    words: String,
    /// Whether it takes one as an argument, and not only as an option's value.
    positional: bool,
    /// Its options that take a run.
    options: Vec<String>,
    /// Its other options that take a value.
    others: Vec<String>,
}

fn is_run(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    names.iter().any(|name| name.as_str() == RUN)
}

fn hinted(command: Command) -> Command {
    let hint = |arg: Arg| match is_run(&arg) {
        true => arg.value_hint(HINT),
        false => arg,
    };
    command.mut_args(hint).mut_subcommands(hinted)
}

fn takers(command: &Command) -> Vec<Taker> {
    fn below(command: &Command, words: &str, found: &mut Vec<Taker>) {
        for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let words = format!("{words} {}", command.get_name());
            let options = |run: bool| {
                let all = command.get_opts().filter(move |arg| is_run(arg) == run);
                all.flat_map(names_of).collect::<Vec<_>>()
            };
            let taker = Taker {
                words: words.trim_start().to_owned(),
                positional: command.get_positionals().any(is_run),
                options: options(true),
                others: options(false),
            };
            if taker.positional || !taker.options.is_empty() {
                found.push(taker);
            }
            below(command, &words, found);
        }
    }
    let mut found = Vec::new();
    below(command, "", &mut found);
    found
}

/// `-o` and `--out` of an option.
fn names_of(arg: &Arg) -> Vec<String> {
    let short = arg.get_short().map(|c| format!("-{c}"));
    let long = arg.get_long().map(|name| format!("--{name}"));
    short.into_iter().chain(long).collect()
}

fn bash(text: &str, takers: &[Taker]) -> String {
    let quoted = |all: Vec<String>| {
        let all: Vec<String> = all.iter().map(|one| format!("\"{one}\"")).collect();
        all.join("|")
    };
    // `lab` before `lab summary`.
    let mut steps: Vec<String> = Vec::new();
    for taker in takers {
        let mut before = String::new();
        for word in taker.words.split(' ') {
            let step = format!("{before} {word}");
            if !steps.contains(&step) {
                steps.push(step);
            }
            before = format!("{before} {word}").trim_start().to_owned();
        }
    }
    let of = |which: fn(&Taker) -> &Vec<String>| -> Vec<String> {
        let all = takers.iter().flat_map(|t| {
            let options = which(t).iter();
            options.map(|option| format!("{} {option}", t.words))
        });
        all.collect()
    };
    let positional = takers.iter().filter(|t| t.positional);
    let positional: Vec<String> = positional.map(|t| format!("\"{} \"*", t.words)).collect();
    let runs = BASH
        .replace("STEPS", &quoted(steps))
        .replace("VALUES", &quoted(of(|t| &t.others)))
        .replace("OPTIONS", &quoted(of(|t| &t.options)))
        .replace("POSITIONAL", &positional.join("|"));
    runs + &text.replace("complete -F _tompion ", "complete -F _tompion_or_runs ")
}

/// Words are those between spaces: bash itself breaks them at `@`, too, or not, by its settings.
const BASH: &str = r#"# Where a run is meant: those that were kept, and directories.
_tompion_or_runs() {
    local line="${COMP_LINE:0:COMP_POINT}" at="" word last head name full
    local -a words
    last="${line##*[[:space:]]}"
    read -ra words <<< "${line%"$last"}"
    for word in "${words[@]}"; do
        case "$at $word" in
            *" --") at="-- $at" ;;
            STEPS) at="${at:+$at }$word" ;;
        esac
    done
    case "$at ${words[${#words[@]}-1]}" in
        VALUES) _tompion "$@"; return ;;
        OPTIONS|POSITIONAL) ;;
        *) _tompion "$@"; return ;;
    esac
    if [[ "$last" == -* || "${BASH_VERSINFO[0]}" -lt 4 ]]; then
        _tompion "$@"
        return
    fi
    COMPREPLY=()
    # What stands before the last comma stays, and what bash does not replace.
    head="${last%"${last##*,}"}"
    while IFS=$'\t' read -r name _; do
        full="$head$name"
        if [[ "$full" == "$last"* ]]; then
            COMPREPLY+=("${full#"${last%"$2"}"}")
        fi
    done < <(command tompion runs --names 2>/dev/null </dev/null)
    if [[ -z "$last" ]]; then
        while IFS= read -r name; do
            printf -v name %q "$name"
            COMPREPLY+=("$name")
        done < <(compgen -d)
    elif [[ "$last" == @* ]]; then
        # No hosts.
        compopt +o bashdefault +o default
    fi
}

"#;

fn zsh(text: &str) -> String {
    // Behind the first line, by which zsh knows what it completes.
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!(
        "{first}\n\n{ZSH}{}",
        rest.replace(":_hosts'", ":_tompion_runs'")
    )
}

const ZSH: &str = r#"# Runs that were kept, and directories.
_tompion_runs() {
    local -a runs
    local line ret=1
    compset -P '*,'
    for line in "${(@f)$(command tompion runs --names 2>/dev/null </dev/null)}"; do
        [[ -n $line ]] && runs+=("${line/$'\t'/:}")
    done
    _describe -V -t runs 'kept run' runs && ret=0
    _files -/ && ret=0
    return ret
}

"#;

fn fish(text: &str, takers: &[Taker]) -> String {
    let hosts = "-r -f -a \"(__fish_print_hostnames)\"";
    let mut text = text.replace(hosts, "-r -F -k -a \"(__tompion_runs)\"");
    text.push_str(FISH);
    for taker in takers.iter().filter(|t| t.positional) {
        let using = match taker.words.split_once(' ') {
            None => taker.words.clone(),
            Some((first, rest)) => format!("{first}; and __fish_seen_subcommand_from {rest}"),
        };
        let _ = writeln!(
            text,
            "complete -c tompion -n \"__fish_tompion_using_subcommand {using}\" -k -a \"(__tompion_runs)\""
        );
    }
    text
}

const FISH: &str = r#"# Runs that were kept; directories are fish's own.
function __tompion_runs
    command tompion runs --names 2>/dev/null </dev/null
end
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_that_takes_a_run_has_them_in_each_shell() {
        let takers = takers(&hinted(cli::command()));
        let found: Vec<(&str, bool, usize)> = takers
            .iter()
            .map(|t| (t.words.as_str(), t.positional, t.options.len()))
            .collect();
        for wanted in [
            ("report", true, 0),
            ("compare", true, 0),
            ("lab summary", true, 0),
            ("lab run", false, 1),
            ("claims", false, 1),
        ] {
            assert!(found.contains(&wanted), "{wanted:?} in {found:?}");
        }
        let positional = takers.iter().filter(|t| t.positional).count();
        let options: usize = takers.iter().map(|t| t.options.len()).sum();
        let uses = |shell, name: &str| script(shell).matches(name).count();
        assert_eq!(uses(Shell::Zsh, ":_tompion_runs'"), positional + options);
        assert_eq!(uses(Shell::Fish, "(__tompion_runs)"), positional + options);
        assert_eq!(uses(Shell::Bash, "complete -F _tompion_or_runs "), 2);
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for offers in ["_hosts'", "print_hostnames", "compgen -A hostname"] {
                assert!(!script.contains(offers), "a host is offered: {offers}");
            }
        }
    }
}
