#!/bin/sh
# Runs voxform from this checkout, which pre-commit creates at the configured revision. The first run installs the locked
# dependencies.
set -eu

home=$(cd -- "$(dirname -- "$0")/.." && pwd)

node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 22 || (major === "22" && minor >= 22) ? 0 : 1)' || {
  echo "voxform needs Node 22.22 or later; this is $(node --version)." >&2
  exit 1
}
# npm writes this file last.
if [ ! -e "$home/node_modules/.package-lock.json" ]; then
  (cd -- "$home" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
fi
exec node "$home/src/main.ts" "$@"
