#!/usr/bin/env bash
# Opens, updates or closes the pull request that accepts drift.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

# JSON, because a line of a prompt could be a workflow command. The log has the result.
found="$RUNNER_TEMP/voxform-drift.json"
code=0
voxform "${selected[@]}" accept --pull-request --auto-approve --output json "${flags[@]}" >"$found" || code=$?
url=$(sed -n '/^  "pull_request": {/,/^  }/s/^    "url": "\(.*\)",*$/\1/p' "$found")
printf 'pull-request=%s\n' "$url" >>"$GITHUB_OUTPUT"
if [[ $code -ne 0 ]]; then
  printf '**The pull request for drift failed.** See the log of the job. %s\n' "$url" >>"$GITHUB_STEP_SUMMARY"
else
  printf '%s\n' "${url:-No drift.}" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
