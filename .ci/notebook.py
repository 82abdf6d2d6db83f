"""Executes analysis/notebooks/quickstart.ipynb on a run and fails when any cell does.

usage: notebook.py RUN [--write]    --write keeps the outputs in the notebook
"""

import os
import sys

import nbformat
from nbclient import NotebookClient

NOTEBOOK = os.path.join(os.path.dirname(__file__), "..", "analysis", "notebooks", "quickstart.ipynb")


def main(run, write):
    os.environ["SEXTANT_RUN"] = os.path.realpath(run)
    nb = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(nb, timeout=600, kernel_name="python3", resources={"metadata": {"path": os.path.dirname(NOTEBOOK)}}).execute()
    figures = sum("image/png" in o.get("data", {}) for c in nb.cells for o in c.get("outputs", []))
    print(f"executed {os.path.basename(NOTEBOOK)}: {len(nb.cells)} cells, {figures} figures")
    if figures < 2:
        sys.exit("the notebook has drawn fewer than two figures")
    if write:
        for c in nb.cells:
            c.metadata.pop("execution", None)
        nbformat.write(nb, NOTEBOOK)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], "--write" in sys.argv)
