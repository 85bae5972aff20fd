"""`.ci/circles` names the files of a crate that import from one another in a loop, and no others."""

import subprocess

import pytest
from conftest import ROOT


@pytest.fixture
def circles(tmp_path):
    """Plants the files of a crate and returns the exit status and what is printed."""

    def look(**files):
        source = tmp_path / "crates/planted/src"
        for name, text in files.items():
            file = source / f"{name.replace('__', '/')}.rs"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([ROOT / ".ci/circles", tmp_path], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    return look


def test_a_circle_of_three_files_is_named_with_what_each_imports(circles):
    status, lines = circles(
        lib="mod a;\nmod b;\nmod c;\nmod d;\n",
        a="use std::fmt;\nuse crate::{b::{B, Other}, d::D};\n",
        b="use super::c::C;\n",
        c="fn c() -> u32 { crate::a::number() }\n",
        d="pub struct D;\n",
    )
    assert status == 1
    assert lines == [
        "planted: a circle of 3 files",
        "    a.rs imports B from b.rs",
        "    a.rs imports Other from b.rs",
        "    b.rs imports C from c.rs",
        "    c.rs imports a::number from a.rs",
    ]


def test_what_is_passed_on_counts_for_the_file_that_has_it(circles):
    # The root passes on what two files share, and imports from neither.
    lib = "mod a;\nmod b;\npub use a::A;\npub use b::{B as Better, C};\n"
    assert circles(lib=lib, a="use crate::C;\n", b="pub struct B;\n") == (0, [])
    status, lines = circles(lib=lib, a="use crate::C;\n", b="use crate::A;\n")
    assert (status, lines[0]) == (1, "planted: a circle of 2 files")


def test_a_parent_and_its_child_are_two_files(circles):
    status, lines = circles(
        lib="mod parent;\n",
        parent="mod child;\nuse child::Child;\npub struct Parent;\n",
        parent__child="use super::Parent;\npub struct Child;\n",
    )
    assert status == 1
    assert lines[1:] == [
        "    parent.rs imports Child from parent/child.rs",
        "    parent/child.rs imports Parent from parent.rs",
    ]


def test_comments_tests_and_other_crates_make_no_circle(circles):
    assert circles(
        lib="mod a;\nmod b;\n",
        a="// use crate::b::B;\nuse b_of_another_crate::B;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
        b="use crate::a::A;\n",
        a__tests="use crate::b::B;\n",
    ) == (0, [])
