#!/usr/bin/env bash
# Checks the inputs of the action, masks the key, and names the artifact. Errors do not repeat the input, because it could contain a
# workflow command.
set -euo pipefail

fail() {
  printf '::error title=voxform::%s\n' "$1"
  exit 1
}

# Succeeds for a path inside the repository that cannot be mistaken for a flag.
is_path() { [[ $1 =~ ^[A-Za-z0-9._][A-Za-z0-9._/-]*$ && ! /$1/ =~ /\.\./ ]]; }

if [[ -n $INPUT_API_KEY ]]; then
  [[ $INPUT_API_KEY != *$'\n'* && $INPUT_API_KEY != *$'\r'* ]] || fail 'api-key must be one line'
  printf '::add-mask::%s\n' "${INPUT_API_KEY//%/%25}"
fi

[[ $INPUT_MODE =~ ^(install|validate|plan|apply|drift)$ ]] || fail 'mode must be install, validate, plan, apply or drift'
[[ $INPUT_WORKSPACE =~ ^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$ ]] ||
  fail 'workspace must be letters, digits, dots, dashes and underscores'
is_path "$INPUT_WORKING_DIRECTORY" || fail 'working-directory must be a folder inside the repository'
is_path "$INPUT_PLAN_FILE" || fail 'plan-file must be a path inside working-directory'
file='(https://[A-Za-z0-9._~:/?&=%+@-]+|[A-Za-z0-9._][A-Za-z0-9._/@+-]*)#sha256=[0-9a-f]{64}'
[[ $INPUT_VOXFORM =~ ^(source|path|$file)$ ]] || fail 'voxform must be source, path or FILE#sha256=HASH'
[[ $INPUT_STATE_SIGN_IN =~ ^(aws|azure)?$ ]] || fail 'state-sign-in must be aws or azure'
[[ $INPUT_PLAN_RUN_ID =~ ^[0-9]*$ ]] || fail 'plan-run-id must be the id of a run'
[[ $INPUT_RETENTION_DAYS =~ ^[1-9][0-9]?$ ]] || fail 'retention-days must be 1 to 99'
[[ $INPUT_COMMENT =~ ^(true|false)$ ]] || fail 'comment must be true or false'
while IFS= read -r flag; do
  [[ -z $flag || $flag =~ ^--[a-z] ]] || fail 'flags must be one a line, each beginning with --'
done <<<"$INPUT_FLAGS"
[[ $PLAN_COMMIT =~ ^[0-9a-f]{40,64}$ ]] || fail 'the commit of this run is not known'
cd -- "$INPUT_WORKING_DIRECTORY" || fail 'working-directory does not exist: check the repository out first'

# Workspaces and folders cannot contain a plus here, so two projects never share a name.
prefix="voxform-plan-${INPUT_WORKSPACE:-default}"
[[ $INPUT_WORKING_DIRECTORY == . ]] || prefix+="+${INPUT_WORKING_DIRECTORY//\//+}"
{
  printf 'artifact-prefix=%s\n' "$prefix"
  printf 'artifact=%s-%s\n' "$prefix" "$PLAN_COMMIT"
} >>"$GITHUB_OUTPUT"
