# shellcheck shell=bash
# Sourced by the steps that run voxform. Exports the API key, and sets the common arguments.

selected=()
if [[ -n ${INPUT_WORKSPACE:-} ]]; then
  selected=(--workspace "$INPUT_WORKSPACE")
fi

if [[ -n $INPUT_API_KEY ]]; then
  # Use the variable named in voxform.yaml, because VOXFORM_API_KEY overrides it, and every run warns about that.
  name=$(voxform "${selected[@]}" workspace list --output json 2>/dev/null |
    sed -n '/^    "selected": true/,/^  }/s/^    "api_key": "\(.*\)",*$/\1/p') || name=
  [[ $name =~ ^[A-Z_][A-Z0-9_]*$ && -z ${!name:-} ]] || name=VOXFORM_API_KEY
  export "$name=$INPUT_API_KEY"
fi
unset INPUT_API_KEY

flags=()
while IFS= read -r flag; do
  # shellcheck disable=SC2034 # For the steps.
  [[ -z $flag ]] || flags+=("$flag")
done <<<"${INPUT_FLAGS:-}"
