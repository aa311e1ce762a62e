#!/usr/bin/env bash
# Applies the saved plan as it is, or not at all.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

# The timeout is longer than a job that was killed keeps the lock of the state.
code=0
voxform "${selected[@]}" apply "$INPUT_PLAN_FILE" --lock-timeout 15m --output markdown "${flags[@]}" \
  >>"$GITHUB_STEP_SUMMARY" || code=$?
if [[ $code -ne 0 ]]; then
  printf '\n**The plan was not applied, or not wholly.** The log of the job says why.\n' >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
