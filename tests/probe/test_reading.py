"""Side files as they are found: whole, torn, foreign, growing, of many processes."""

from pathlib import Path

import numpy as np

from bench.probe import HEADER, MAGIC, RECORD, environment, read


def side_file(prefix: Path, pid: int, ids: list[int], tail: bytes = b"") -> Path:
    header = np.zeros(1, HEADER)
    header["magic"], header["format"], header["record_bytes"] = MAGIC, 1, RECORD.itemsize
    header["language"], header["pid"], header["process_up_ns"] = 2, pid, 5
    header["sdk"], header["last_error"], header["errors"] = b"sdk 1.32.2", "größe".encode(), 1
    made = np.zeros(len(ids), RECORD)
    made["kind"], made["id"] = 1, ids
    path = prefix.with_name(f"{prefix.name}{pid}")
    path.write_bytes(header.tobytes() + made.tobytes() + tail)
    return path


def test_header_and_records_come_back(tmp_path: Path) -> None:
    side_file(tmp_path / "p-", 12, [3, 4])
    (file,) = read(tmp_path / "p-")
    assert (file.pid, file.language, file.sdk, file.process_up_ns) == (12, "node", "sdk 1.32.2", 5)
    assert (file.errors, file.last_error, file.drops) == (1, "größe", 0)
    assert (file.imports_done_ns, file.listening_ns, file.first_read_ns) == (None, None, None)
    assert file.records["id"].tolist() == [3, 4]


def test_a_torn_record_and_an_empty_rest_are_passed_over(tmp_path: Path) -> None:
    side_file(tmp_path / "torn-", 1, [3], b"\x01" * 79)
    side_file(tmp_path / "sparse-", 1, [3], bytes(RECORD.itemsize * 10_000))
    assert read(tmp_path / "torn-")[0].records["id"].tolist() == [3]
    assert read(tmp_path / "sparse-")[0].records["id"].tolist() == [3]


def test_more_records_than_one_piece(tmp_path: Path) -> None:
    side_file(tmp_path / "p-", 1, list(range(10_000)))
    assert read(tmp_path / "p-")[0].records["id"].tolist() == list(range(10_000))


def test_only_our_files_by_process_id(tmp_path: Path) -> None:
    side_file(tmp_path / "p-", 30, [])
    side_file(tmp_path / "p-", 4, [])
    (tmp_path / "p-7").write_bytes(b"someone else's" * 40)
    (tmp_path / "p-8").write_bytes(MAGIC)
    (tmp_path / "p-notes").write_bytes(b"")
    assert [file.pid for file in read(tmp_path / "p-")] == [4, 30]
    assert read(tmp_path / "missing" / "p-") == ()


def test_the_environment_keeps_what_was_there(tmp_path: Path) -> None:
    base = {"PYTHONPATH": "/a:/b", "NODE_OPTIONS": '--import "/x y.mjs"', "HOME": "/root"}
    child = environment(tmp_path / "p-", base)
    assert child["PYTHONPATH"].endswith(":/a:/b")
    assert child["NODE_OPTIONS"].startswith('--import "/x y.mjs" --require="')
    assert child["MCP_LATENCY_NODE_OPTIONS"] == base["NODE_OPTIONS"]
    assert child["HOME"] == "/root"
    assert "MCP_LATENCY_NODE_OPTIONS" not in environment(tmp_path / "p-", {})
    assert base["PYTHONPATH"] == "/a:/b"
