use super::*;

fn oci(settings: OciSettings) -> Oci {
    Oci { settings }
}

#[test]
fn what_runtimes_log_is_told_without_its_time() {
    let runc = "time=\"2026-11-22T00:04:33Z\" level=error msg=\"runc run failed: no\"";
    assert_eq!(message(runc), "runc run failed: no");
    let quoted = "time=\"2026\" level=error msg=\"exec: \\\"/x\\\": not found\"";
    assert_eq!(message(quoted), "exec: \"/x\": not found");
    assert_eq!(message("2026-11-22T00:04:33.5Z: it fails"), "it fails");
    assert_eq!(message("tompion: it fails"), "tompion: it fails");
}

#[test]
fn a_quota_is_part_of_the_bundle() {
    let oci = oci(OciSettings {
        runtime: "runc".into(),
        quota_us: Some(20_000),
        period_us: Some(100_000),
        cpuset: Some(vec![0, 1]),
        ..OciSettings::default()
    });
    let cpu = serde_json::to_value(oci.cpu(None).unwrap()).unwrap();
    let want = serde_json::json!({"quota": 20_000, "period": 100_000, "cpus": "0-1"});
    assert_eq!(cpu, want);
}

#[test]
fn a_seat_goes_before_the_settings_of_the_platform() {
    let oci = oci(OciSettings {
        runtime: "runc".into(),
        shares: Some(7),
        cpuset: Some(vec![0, 1]),
        ..OciSettings::default()
    });
    let seat = Seat {
        cpus: vec![1],
        one_each: false,
        scheduling: crate::groups::Scheduling {
            weight: Some(400),
            quota_us: Some(20_000),
            period_us: None,
        },
        parent: None,
        name: "measure".to_owned(),
    };
    let cpu = serde_json::to_value(oci.cpu(Some(&seat)).unwrap()).unwrap();
    let want = serde_json::json!(
        {"shares": 4096, "quota": 20_000, "period": 100_000, "cpus": "1"}
    );
    assert_eq!(cpu, want);
}

#[test]
fn a_containers_network_is_empty_or_the_one_that_it_is_joined_to() {
    let network = |joined: Option<&Joined>| {
        let all = namespaces(joined).unwrap();
        let other = all
            .iter()
            .filter(|n| n.typ() != LinuxNamespaceType::Network)
            .count();
        assert_eq!(other, get_default_namespaces().len() - 1);
        let own = all
            .into_iter()
            .find(|n| n.typ() == LinuxNamespaceType::Network);
        own.map(|own| own.path().clone())
    };
    assert_eq!(network(None), Some(None));
    assert_eq!(network(Some(&Joined::Host)), None);
    let at = PathBuf::from("/proc/7/fd/9");
    assert_eq!(
        network(Some(&Joined::Namespace(at.clone()))),
        Some(Some(at))
    );
}
