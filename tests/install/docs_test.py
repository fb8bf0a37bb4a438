#!/usr/bin/env python3
"""The installed documents are complete: each link between documents and samples leads to a file.

usage: docs_test.py FOLDER [unittest options]
"""
import pathlib
import re
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
INSTALLED = [FOLDER / "docs", FOLDER / "samples"]
LINK = re.compile(r"\]\((?!\w+:)([^)# ]+)[^)]*\)")


def links_of(document):
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        path = (document.parent / target).resolve()
        if any(path.is_relative_to(folder) for folder in INSTALLED):
            yield path


class Documents(unittest.TestCase):
    def test_links_between_documents_and_samples_lead_to_files(self):
        documents = [FOLDER / "README.md", *FOLDER.glob("docs/**/*.md")]
        links = [(document, path) for document in documents for path in links_of(document)]
        self.assertGreater(len(links), 50)
        self.assertEqual([each for each in links if not each[1].exists()], [])

    def test_five_minutes_with_a_driver_have_their_files(self):
        self.assertTrue((FOLDER / "docs/test-your-driver.md").exists())
        for name in ("pipe.c", "pipe.script"):
            self.assertTrue((FOLDER / "samples/drive" / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
