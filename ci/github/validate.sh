#!/usr/bin/env bash
# Checks the manifests, and annotates what is wrong. Needs no key.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
INPUT_API_KEY=
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

voxform "${selected[@]}" validate --output github
