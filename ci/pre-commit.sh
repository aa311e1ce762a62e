#!/bin/sh
# Runs voxform from this checkout, which pre-commit creates at the configured revision. The first run builds it.
set -eu

home=$(cd -- "$(dirname -- "$0")/.." && pwd)

node "$home/ci/check-node.js"
"$home/ci/install-source.sh"
exec node "$home/dist/main.js" "$@"
