# Completion of voxform for bash: eval "$(voxform completion bash)"
_voxform() {
  local before=("${COMP_WORDS[@]:1:COMP_CWORD-1}") value rest
  [[ ${COMP_WORDS[COMP_CWORD]} == = ]] && before+=("=")
  COMPREPLY=()
  while IFS=$'\t' read -r value rest; do
    case $value in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      :stay) compopt -o nospace ;;
      *) COMPREPLY+=("$value") ;;
    esac
  done < <("${1/#\~\//$HOME/}" completion bash --complete "${before[@]/#/=}" "=$2" 2>/dev/null)
} 2>/dev/null
complete -F _voxform voxform
