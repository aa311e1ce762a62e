#!/bin/sh
# Runs voxform from this checkout, which pre-commit creates at the configured revision. The first run installs the locked
# dependencies.
set -eu

home=$(cd -- "$(dirname -- "$0")/.." && pwd)

node "$home/ci/check-node.js"
# npm writes this file last.
if [ ! -e "$home/node_modules/.package-lock.json" ]; then
  (cd -- "$home" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
fi
exec node "$home/src/main.ts" "$@"
