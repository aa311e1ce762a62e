#!/bin/sh
# Installs the locked dependencies of this checkout, and builds the command as dist/main.js. The sources alone do not run
# without the development dependencies, which the build bundles.
set -eu

cd -- "$(dirname -- "$0")/.."
[ ! -e dist/main.js ] || exit 0
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
# In a folder of its own first: a build that was interrupted must not count as done.
node scripts/bundle.ts dist.new >&2
mv dist.new dist
