"""Evaluates a Jsonnet file with the Python package rjsonnet: rjsonnet.py FOLDER-OF-THE-PACKAGE FILE."""

import sys

sys.path.insert(0, sys.argv[1])
import rjsonnet

print(rjsonnet.evaluate_file(sys.argv[2]))
