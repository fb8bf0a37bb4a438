"""The tests in the package python3-pyverbs of rdma-core."""
import gzip
import pathlib

SOURCE = pathlib.Path("/usr/share/doc/rdma-core/tests")
PYTHON = "/usr/bin/python3"  # for which the package has compiled its modules


def unpack(tree):
    target = tree / "tests"
    target.mkdir()
    for file in SOURCE.iterdir():
        content = file.read_bytes()
        if file.suffix == ".gz":
            content = gzip.decompress(content)
        (target / file.name.removesuffix(".gz")).write_bytes(content)
