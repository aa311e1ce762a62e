#!/usr/bin/env bash
# Validates the manifests, and annotates errors. Needs no key.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
INPUT_API_KEY=
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

voxform "${selected[@]}" validate --output github
