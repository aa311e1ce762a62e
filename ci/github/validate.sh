#!/usr/bin/env bash
# Checks the manifests and their layout. Needs no key.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
INPUT_API_KEY=
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

code=0
voxform "${selected[@]}" validate --output github || code=$?
voxform fmt --check || code=$?
exit "$code"
