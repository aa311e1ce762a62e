#!/bin/sh
# Installs the locked dependencies of this checkout, including those for development, and builds the command as dist/main.js.
set -eu

cd -- "$(dirname -- "$0")/.."
[ ! -e dist/main.js ] || exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
# Build in a temporary folder, so that an interrupted build does not count as complete.
node scripts/bundle.ts dist.new >&2
mv dist.new dist
