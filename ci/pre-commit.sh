#!/bin/sh
# Runs the voxform of this checkout, which pre-commit made at the revision that the project names. Its dependencies come with
# the first run, as the lock file has them.
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
