#!/usr/bin/env bash
# Puts `voxform` on the path: from this action's own sources and lock file, or the one of the runner.
set -euo pipefail

bin="$RUNNER_TEMP/voxform-bin"

case $INPUT_VOXFORM in
path)
  command -v voxform >/dev/null || {
    echo '::error title=voxform::there is no voxform on the path of this runner'
    exit 1
  }
  ;;
source)
  # An earlier step of the same job may have put voxform on the path.
  [[ ! -x $bin/voxform ]] || exit 0
  "$ACTION_PATH/ci/install-source.sh"
  mkdir -p "$bin"
  printf '#!/bin/sh\nexec node "%s/dist/main.js" "$@"\n' "$ACTION_PATH" >"$bin/voxform"
  chmod +x "$bin/voxform"
  echo "$bin" >>"$GITHUB_PATH"
  ;;
esac
