//! Containers and what looks like them.

use super::Tree;

fn kind(tree: &Tree) -> Option<String> {
    tree.described(None).container.kind
}

#[test]
fn a_docker_container_is_known_by_marker_and_namespace() {
    let tree = Tree::new()
        .file(".dockerenv", "")
        .namespaces(&["pid", "uts", "ipc"]);
    let c = tree.described(None).container;
    assert_eq!(c.kind.as_deref(), Some("docker"));
    assert_eq!(c.evidence, ["/.dockerenv exists"]);
    assert_eq!(c.own_namespaces, ["ipc", "pid", "uts"]);
}

#[test]
fn a_disk_made_from_a_container_image_is_no_container() {
    let c = Tree::new()
        .file(".dockerenv", "")
        .namespaces(&[])
        .described(None)
        .container;
    assert_eq!(c.kind, None);
    assert!(
        c.evidence[0].contains("a disk made from a container image"),
        "{:?}",
        c.evidence
    );
}

#[test]
fn marker_files_count_where_namespaces_cannot_be_read() {
    assert_eq!(
        kind(&Tree::new().file(".dockerenv", "")).as_deref(),
        Some("docker")
    );
}

#[test]
fn each_manager_is_known_by_what_it_leaves() {
    let contained = || Tree::new().namespaces(&["pid"]);
    let cases = [
        (
            contained().file("run/.containerenv", "engine=\"podman-4.3.1\"\n"),
            "podman",
        ),
        (
            contained().file("proc/1/environ", "PATH=/bin\0container=lxc\0"),
            "lxc",
        ),
        (
            contained().file("run/host/container-manager", "systemd-nspawn\n"),
            "systemd-nspawn",
        ),
        (
            contained().file("proc/self/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1\0"),
            "kubernetes",
        ),
        (
            contained().file("proc/self/cgroup", "3:cpu:/kubepods/pod1/abc\n"),
            "kubernetes",
        ),
        (
            contained().file("proc/self/cgroup", "3:cpu:/docker/0123\n"),
            "docker",
        ),
        (contained(), "namespaces"),
    ];
    for (tree, want) in cases {
        assert_eq!(kind(&tree).as_deref(), Some(want));
    }
}

#[test]
fn gvisor_is_known_by_its_kernel_version() {
    let frozen = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n";
    for version in [frozen, "Linux version 4.19.0-gvisor #1 SMP\n"] {
        let tree = Tree::new()
            .file("proc/version", version)
            .file(".dockerenv", "");
        assert_eq!(kind(&tree).as_deref(), Some("gvisor"));
    }
    let debian = Tree::new().file("proc/version", "Linux version 4.4.0-210-generic (buildd)\n");
    assert_eq!(kind(&debian.namespaces(&[])), None);
}

#[test]
fn a_chroot_is_known_by_another_root_in_the_same_mounts() {
    let tree = |mounts_of_1: &str, root_of_1: &str| {
        Tree::new()
            .namespaces(&[])
            .file("first/file", "")
            .file("second/file", "")
            .link("proc/self/root", "../../first")
            .link("proc/1/root", format!("../../{root_of_1}"))
            .link("proc/self/ns/mnt", "mnt:[1]")
            .link("proc/1/ns/mnt", mounts_of_1)
    };
    assert_eq!(kind(&tree("mnt:[1]", "second")).as_deref(), Some("chroot"));
    assert_eq!(kind(&tree("mnt:[1]", "first")), None);
    assert_eq!(kind(&tree("mnt:[2]", "second")), None);
}
