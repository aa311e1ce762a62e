#!/usr/bin/env bash
# Puts `voxform` on the PATH: built from this action's sources, from a file, or already installed on the runner.
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
*)
  source=${INPUT_VOXFORM%#sha256=*} wanted=${INPUT_VOXFORM##*#sha256=}
  # A new folder, so that files of earlier jobs cannot interfere.
  file=$(mktemp -d "$RUNNER_TEMP/voxform-XXXXXX")/voxform
  case ${source%%\?*} in *.tgz) file=$file.tgz ;; esac
  case $source in
  https://*) curl --fail --silent --show-error --location --output "$file" "$source" ;;
  *) cp "$source" "$file" ;;
  esac
  sha256=$(sha256sum <"$file")
  if [[ ${sha256%% *} != "$wanted" ]]; then
    echo "::error title=voxform::The SHA-256 of the file is ${sha256%% *}, not that of the input voxform. Compare both with SHA256SUMS of the release"
    exit 1
  fi
  case $file in
  *.tgz) npm install --global --ignore-scripts --no-audit --no-fund "$file" ;;
  *)
    chmod +x "$file"
    dirname "$file" >>"$GITHUB_PATH"
    ;;
  esac
  ;;
esac
