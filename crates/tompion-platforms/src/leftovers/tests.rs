use super::*;

fn dead() -> Owner {
    // Pid 1 is always there, and never began with this number of ticks.
    Owner {
        boot_id: boot_id(),
        pid: 1,
        start: u64::MAX,
    }
}

/// A lab that holds nothing, as one whose process is gone.
fn unheld(owner: &Owner, base: &Path, out: &Path) -> Result<Workspace, Error> {
    Workspace::create_for(owner, base, out, |directory| {
        fs::create_dir_all(directory).unwrap();
        Ok(None)
    })
}

/// A lab that went without a word, with a scratch directory that holds something.
fn left_behind(owner: &Owner, base: &Path, out: &Path) -> PathBuf {
    let workspace = unheld(owner, base, out).unwrap();
    fs::write(workspace.scratch().join("file"), "x").unwrap();
    let scratch = workspace.scratch().to_path_buf();
    std::mem::forget(workspace);
    scratch
}

#[test]
fn a_workspace_leaves_nothing() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let owner = Owner::this().unwrap();
    let workspace = unheld(&owner, base.path(), out.path()).unwrap();
    fs::write(workspace.scratch().join("file"), "x").unwrap();
    // At work, it is left alone.
    let cleaning = clean_below(base.path(), Way::Remove).unwrap();
    assert_eq!(
        (cleaning.at_work, cleaning.found),
        (vec![owner.pid], Vec::new())
    );
    assert!(workspace.scratch().join("file").exists());
    drop(workspace);
    for place in [&base, &out] {
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_lab_that_another_namespace_does_not_know_is_left_alone_as_long_as_it_lives() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = Workspace::create_below(base.path(), out.path()).unwrap();
    let journal = workspace.volatile().join(JOURNAL);
    // As from where processes have other numbers and times.
    let text = fs::read_to_string(&journal).unwrap();
    let owner = serde_json::to_string(&Owner::this().unwrap()).unwrap();
    let unknown = serde_json::to_string(&dead()).unwrap();
    fs::write(&journal, text.replacen(&owner, &unknown, 1)).unwrap();
    for way in [Way::Tell, Way::Remove] {
        let cleaning = clean_below(base.path(), way).unwrap();
        assert_eq!((cleaning.at_work.len(), cleaning.found), (1, Vec::new()));
    }
    assert!(workspace.scratch().exists());
    drop(workspace);
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn what_a_dead_lab_left_is_told_then_removed() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let scratch = left_behind(&dead(), base.path(), out.path());
    let told = clean_below(base.path(), Way::Tell).unwrap();
    assert_eq!(told.found.len(), 2, "{told:?}");
    assert!(scratch.exists());
    assert_eq!(clean_below(base.path(), Way::Remove).unwrap(), told);
    for place in [&base, &out] {
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
    assert_eq!(
        clean_below(base.path(), Way::Remove).unwrap(),
        Cleaning::default()
    );
}

#[test]
fn another_boot_is_another_lab_and_a_cut_line_names_nothing() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let elsewhere = Owner {
        boot_id: "another".to_owned(),
        ..Owner::this().unwrap()
    };
    left_behind(&elsewhere, base.path(), out.path());
    let journal = base.path().join(elsewhere.stem()).join(JOURNAL);
    let mut text = fs::read_to_string(&journal).unwrap();
    text.push_str("{\"directory\":\"/us");
    fs::write(&journal, text).unwrap();
    let cleaning = clean_below(base.path(), Way::Remove).unwrap();
    assert!(
        cleaning.found.iter().all(|l| l.problem.is_none()),
        "{cleaning:?}"
    );
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn a_lab_killed_before_its_first_line_is_known_by_its_directory() {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join(dead().stem())).unwrap();
    fs::create_dir(base.path().join("something else")).unwrap();
    let cleaning = clean_below(base.path(), Way::Remove).unwrap();
    assert_eq!(cleaning.found.len(), 1);
    // What no lab made stays.
    assert!(base.path().join("something else").exists());
}

#[test]
fn journals_that_others_can_have_written_are_not_gone_by() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (place, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = place.path().join("base");
    let scratch = left_behind(&dead(), &base, out.path());
    let refused = |base: &Path, why: &str| {
        let create = unheld(&dead(), base, out.path()).unwrap_err();
        let clean = clean_below(base, Way::Remove).unwrap_err();
        for error in [create.to_string(), clean.to_string()] {
            assert!(error.contains(why), "{error}");
        }
    };
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&base, "can be written to by others");
    fs::set_permissions(&base, fs::Permissions::from_mode(0o700)).unwrap();
    let link = place.path().join("link");
    symlink(&base, &link).unwrap();
    refused(&link, "is no directory");
    assert!(scratch.exists());
    assert_eq!(clean_below(&base, Way::Remove).unwrap().found.len(), 2);
}

/// Something elsewhere, which `succeeds` or not when it is to be removed.
fn elsewhere(succeeds: bool) -> Made {
    let script = match succeeds {
        true => "exit 0",
        false => "echo nobody answers >&2; exit 1",
    };
    Made::Elsewhere {
        what: "directory d on h".to_owned(),
        remove: ["sh", "-c", script].map(str::to_owned).to_vec(),
    }
}

#[test]
fn what_lies_on_another_machine_is_known_until_it_is_gone() {
    let (base, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let count = || fs::read_dir(base.path()).unwrap().count();
    let workspace = |succeeds| {
        let workspace = unheld(&dead(), base.path(), out.path()).unwrap();
        workspace.note(&elsewhere(succeeds)).unwrap();
        workspace
    };
    let left = workspace(true);
    assert_eq!(left.leave_elsewhere(), Vec::<String>::new());
    drop(left);
    assert_eq!(count(), 0);
    let left = workspace(false);
    let want = "directory d on h is left: nobody answers";
    assert_eq!(left.leave_elsewhere(), [want]);
    drop(left);
    assert_eq!(count(), 1);
    let told = clean_below(base.path(), Way::Remove).unwrap().found;
    assert_eq!(told[0].what, "directory d on h");
    assert_eq!(told[0].problem.as_deref(), Some("nobody answers"));
    assert_eq!((told.len(), count()), (1, 1));
    // The machine is gone for good.
    let told = clean_below(base.path(), Way::Forget).unwrap().found;
    assert_eq!(told[0].problem.as_deref(), Some("nobody answers"));
    assert_eq!((told.len(), count()), (2, 0));
}

#[test]
fn a_container_is_kept_by_its_name_and_by_no_longer_number() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("tompion-lab-7-9-1");
    let kept = || is_kept("tompion-lab-7-9-1", &state);
    assert!(!kept());
    fs::create_dir(root.path().join("tompion-lab-7-9-12")).unwrap();
    assert!(!kept());
    fs::create_dir(&state).unwrap();
    assert!(kept());
    fs::remove_dir(&state).unwrap();
    // As runsc has it.
    let of_runsc = "tompion-lab-7-9-1_sandbox:tompion-lab-7-9-1.state";
    fs::write(root.path().join(of_runsc), "").unwrap();
    assert!(kept());
    assert!(!is_kept("x", Path::new("/no/such/place/x")));
}

#[test]
fn scratch_directories_of_a_run_go_and_nothing_else() {
    let out = tempfile::tempdir().unwrap();
    for name in ["scratch-7-9", "samples"] {
        fs::create_dir_all(out.path().join(name).join("inner")).unwrap();
    }
    fs::write(out.path().join("scratch-file"), "").unwrap();
    remove_scratch(out.path());
    let mut left: Vec<_> = fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["samples", "scratch-file"]);
}

#[test]
fn a_place_that_somebody_else_has_taken_is_passed_over() {
    let tmp = tempfile::tempdir().unwrap();
    let own = rustix::process::geteuid().as_raw();
    let bases = bases_below(tmp.path(), own);
    fs::create_dir(&bases[0]).unwrap();
    assert!(!is_somebody_elses(&bases[0]) && !is_somebody_elses(&bases[1]));
    assert!(bases.len() == 99 && bases[1].ends_with(format!("tompion-lab-{own}-2")));
    // Only root can give it away.
    if own == 0 {
        std::os::unix::fs::chown(&bases[0], Some(65534), None).unwrap();
        std::os::unix::fs::symlink("/etc", &bases[1]).unwrap();
        std::os::unix::fs::lchown(&bases[1], Some(65534), None).unwrap();
        let free = bases.iter().find(|base| !is_somebody_elses(base));
        assert_eq!(free, Some(&bases[2]));
    }
}

#[test]
fn what_another_machine_says_of_a_removal_is_one_plain_line() {
    let script = r"printf '\033]0;mine\007\033[2J\rno\nroom'; head -c 500000 /dev/zero | tr '\0' y";
    let script = format!("{{ {script}; }} >&2; exit 3");
    let why = run(&["sh".to_owned(), "-c".to_owned(), script]).unwrap_err();
    let why = why.to_string();
    assert!(why.contains("no room") && why.len() < 500, "{}", why.len());
    assert!(!why.chars().any(char::is_control), "{why:?}");
}

#[test]
fn a_journal_that_is_a_pipe_or_a_link_is_none_and_not_waited_for() {
    let base = tempfile::tempdir().unwrap();
    fs::set_permissions(
        base.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    let lab = |name: &str| {
        let directory = base.path().join(name);
        fs::create_dir(&directory).unwrap();
        directory.join(JOURNAL)
    };
    let private = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, lab("999999998-1"), fifo, private, 0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", lab("999999999-1")).unwrap();
    // Their directories' names tell whose they were.
    let cleaning = clean_below(base.path(), Way::Remove).unwrap();
    assert_eq!(cleaning.found.len(), 2, "{cleaning:?}");
    assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
}
