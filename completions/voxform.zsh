#compdef voxform
# Completion of voxform for zsh: put it into a folder of $fpath as _voxform, or after compinit: source <(voxform completion zsh)
_voxform() {
  local -a before candidates options
  local line value files
  before=("${(@Q)words[2,CURRENT-1]}")
  for line in "${(@f)$("${(Q)words[1]}" completion zsh --complete "${(@)before/#/=}" "=${(Q)PREFIX}" 2>/dev/null)}"; do
    case $line in
      (:files) files=-f ;;
      (:folders) files=-/ ;;
      (:stay) options=(-S '') ;;
      (?*)
        value=${line%%$'\t'*}
        if [[ $line == *$'\t'* ]]; then
          candidates+=("${value//:/\\:}:${line#*$'\t'}")
        else
          candidates+=("${value//:/\\:}")
        fi ;;
    esac
  done
  if [[ -n $files ]]; then
    compset -P '--[^=]#='
    [[ $files == -/ ]] && _files -/ || _files
  else
    _describe -t values voxform candidates "${options[@]}"
  fi
}
if [[ $funcstack[1] == _voxform ]]; then
  _voxform "$@"
else
  compdef _voxform voxform
fi
