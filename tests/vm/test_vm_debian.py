#!/usr/bin/env python3
"""Debian's versions, apt's source files of both forms, and the index of packages; no network."""
import os
import tempfile

from tap import main, raises, same

from harness import debian


def test_versions_in_order():
    ordered = [
        "1.0~rc1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.0a-1", "1.0+deb1-1", "1.0.1-1", "1.9-1", "1.10-1", "1:0.1",
    ]  # fmt: skip
    for i, a in enumerate(ordered):
        for j, b in enumerate(ordered):
            got = debian.compare_versions(a, b)
            if (got > 0) - (got < 0) != (i > j) - (i < j):
                raise AssertionError(f"{a} {b}: {got}")


def package(name, version):
    return debian.Package(name, version, "amd64", "0" * 64, 1, f"pool/{name}_{version}_amd64.deb")


def test_the_newest_match():
    found = [package("linux-image-6.12.9+deb12-cloud-amd64", "6.12.9-1"),
             package("linux-image-6.12.10+deb12-cloud-amd64", "6.12.10-1~bpo12+1"),
             package("linux-image-6.12.99+deb12-amd64", "6.12.99-1"),
             package("linux-image-7.0+deb12-cloud-amd64", "7.0-1")]
    same(debian.newest(found, "linux-image-6.12.*-cloud-amd64").version, "6.12.10-1~bpo12+1")
    same(debian.newest(found, "linux-image-5.*"), None)


INDEX = """Package: one
Version: 1:2-3
Size: 17
SHA256: %s
Filename: pool/main/o/one_2-3_amd64.deb
Description: x

Package: two
Version: 4
Size: 5
SHA256: %s
Filename: pool/main/t/two_4_amd64.deb
""" % ("a" * 64, "b" * 64)


def test_the_index():
    one, two = debian.parse_packages(INDEX, "amd64")
    same((one.name, one.version, one.size, one.sha256), ("one", "1:2-3", 17, "a" * 64))
    same(two.deb(), "two_4_amd64.deb")
    assert one.deb() != "one_2-3_amd64.deb", "an epoch must not be lost from the cache's file name"
    same([p.name for p in debian.parse_packages(INDEX, "amd64", "tw*")], ["two"])


def mirror(files):
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for name, text in files.items():
            paths.append(os.path.join(directory, name))
            with open(paths[-1], "w") as f:
                f.write(text)
        return debian.mirror_of(debian.read_sources(paths))


DEB822 = """# a comment
Types: deb
URIs: http://mirror.invalid/other
Suites: stable-x
Components: main

Types: deb deb-src
URIs: http://mirror.invalid/debian http://second.invalid/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/some.gpg
"""


def test_deb822_sources():
    same(mirror({"a.sources": DEB822}),
         {"uris": "http://mirror.invalid/debian", "signed-by": "/usr/share/keyrings/some.gpg"})
    same(mirror({"a.sources": DEB822.replace("Types: deb deb-src", "Enabled: no\nTypes: deb")}), None)
    same(mirror({"a.sources": DEB822.replace("main contrib", "contrib")}), None)


def test_a_key_in_the_source_itself():
    key = " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ==\n -----END PGP PUBLIC KEY BLOCK-----"
    found = mirror({"a.sources": DEB822.replace(" /usr/share/keyrings/some.gpg", "\n" + key)})
    assert key in debian.sources_text(found, ["bookworm"], ["amd64"])


def test_one_line_sources():
    text = ("# deb http://no.invalid/debian bookworm main\n"
            "deb-src http://no.invalid/debian bookworm main\n"
            "deb http://mirror.invalid/security bookworm-security main\n"
            "deb [arch=amd64 signed-by=/k.gpg] http://mirror.invalid/debian bookworm main # here\n")
    same(mirror({"sources.list": text}), {"uris": "http://mirror.invalid/debian", "signed-by": "/k.gpg"})


def test_the_first_of_several_files():
    same(mirror({"a.list": "deb http://a.invalid/ubuntu jammy main\n", "b.sources": DEB822})["uris"],
         "http://mirror.invalid/debian")


def test_sources_for_our_own_root():
    text = debian.sources_text({"uris": "http://m.invalid/d", "signed-by": "/k.gpg"}, ["a", "b"], ["amd64", "arm64"])
    same(text, "Types: deb\nURIs: http://m.invalid/d\nSuites: a b\nComponents: main\n"
               "Architectures: amd64 arm64\nSigned-By: /k.gpg\n")


def test_a_host_without_debian_says_so():
    with tempfile.NamedTemporaryFile("w", suffix=".list") as f:
        f.write("deb http://a.invalid/ubuntu jammy main\n")
        f.flush()
        os.environ["VM_SOURCES"] = f.name
        raises(debian.DebianError, "VM_SOURCES", debian.host_mirror)


main(globals())
