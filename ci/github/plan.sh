#!/usr/bin/env bash
# Saves a plan. Writes the plan or an error as Markdown to the job summary and to a file for the comment.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=ci/github/arguments.sh
. "$here/arguments.sh"

text="$RUNNER_TEMP/voxform-plan.md"
code=0
voxform "${selected[@]}" plan --out "$INPUT_PLAN_FILE" --detailed-exitcode --output markdown "${flags[@]}" >"$text" ||
  code=$?
if [[ ! -s $text ]]; then
  printf '### voxform plan\n\n**The plan failed.** See the log of the job.\n' >"$text"
fi
cat "$text" >>"$GITHUB_STEP_SUMMARY"
printf 'markdown=%s\n' "$text" >>"$GITHUB_OUTPUT"

case $code in
0) echo 'changes=false' >>"$GITHUB_OUTPUT" ;;
2) echo 'changes=true' >>"$GITHUB_OUTPUT" ;;
*) exit "$code" ;;
esac
