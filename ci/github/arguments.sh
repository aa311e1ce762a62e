# shellcheck shell=bash
# Sourced by the steps that run voxform: its key, and the arguments that they have in common.

[[ -z $INPUT_API_KEY ]] || export VOXFORM_API_KEY="$INPUT_API_KEY"
unset INPUT_API_KEY

selected=()
if [[ -n ${INPUT_WORKSPACE:-} ]]; then
  # shellcheck disable=SC2034 # For the steps.
  selected=(--workspace "$INPUT_WORKSPACE")
fi

flags=()
while IFS= read -r flag; do
  [[ -z $flag ]] || flags+=("$flag")
done <<<"${INPUT_FLAGS:-}"
