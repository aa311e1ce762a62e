#!/usr/bin/env bash
# Applies the saved plan. A stale plan is refused.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

# Longer than the lock of a killed job is valid.
code=0
voxform "${selected[@]}" apply "$INPUT_PLAN_FILE" --lock-timeout 15m --output markdown "${flags[@]}" \
  >>"$GITHUB_STEP_SUMMARY" || code=$?
if [[ $code -ne 0 ]]; then
  printf '\n**The plan was not applied, or only in part.** See the log of the job.\n' >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
