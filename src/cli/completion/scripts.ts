import type { Shell } from './completion-answer.ts';

/*
 * Each script passes every word to `voxform completion SHELL --complete` with a leading =, so that none is empty or looks like a flag,
 * and reads candidates, or :files, :folders and :stay.
 */

const bash = `# Completion of voxform for bash: eval "$(voxform completion bash)"
_voxform() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") value rest
  [[ \${COMP_WORDS[COMP_CWORD]} == = ]] && before+=("=")
  COMPREPLY=()
  while IFS=$'\\t' read -r value rest; do
    case $value in
      :files) compopt -o default ;;
      :folders) compopt -o dirnames ;;
      :stay) compopt -o nospace ;;
      *) COMPREPLY+=("$value") ;;
    esac
  done < <("\${1/#\\~\\//$HOME/}" completion bash --complete "\${before[@]/#/=}" "=$2" 2>/dev/null)
} 2>/dev/null
complete -F _voxform voxform
`;

const zsh = `#compdef voxform
# Completion of voxform for zsh: put it into a folder of $fpath as _voxform, or after compinit: source <(voxform completion zsh)
_voxform() {
  local -a before candidates options
  local line value files
  before=("\${(@Q)words[2,CURRENT-1]}")
  for line in "\${(@f)$("\${(Q)words[1]}" completion zsh --complete "\${(@)before/#/=}" "=\${(Q)PREFIX}" 2>/dev/null)}"; do
    case $line in
      (:files) files=-f ;;
      (:folders) files=-/ ;;
      (:stay) options=(-S '') ;;
      (?*)
        value=\${line%%$'\\t'*}
        if [[ $line == *$'\\t'* ]]; then
          candidates+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
        else
          candidates+=("\${value//:/\\\\:}")
        fi ;;
    esac
  done
  if [[ -n $files ]]; then
    compset -P '--[^=]#='
    [[ $files == -/ ]] && _files -/ || _files
  else
    _describe -t values voxform candidates "\${options[@]}"
  fi
}
if [[ $funcstack[1] == _voxform ]]; then
  _voxform "$@"
else
  compdef _voxform voxform
fi
`;

const fish = `# Completion of voxform for fish: voxform completion fish > ~/.config/fish/completions/voxform.fish
function __voxform_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lead (string match -r -- '^--[^=]*=' "$current")
    for line in ($program completion fish --complete =$words "=$current" 2>/dev/null)
        switch $line
            case :files
                for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
                    printf '%s\\n' "$lead$path"
                end
            case :folders
                __fish_complete_directories "$current" ''
            case :stay
            case '*'
                printf '%s\\n' $line
        end
    end
end
complete -c voxform -f -a '(__voxform_complete)'
`;

const powershell = `# Completion of voxform for PowerShell: voxform completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName voxform -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { "=$($_.ToString().Trim('"', "'"))" })
    $program = $commandAst.CommandElements[0].ToString()
    & $program completion powershell --complete @words "=$wordToComplete" 2>$null | ForEach-Object {
        $value, $description = $_ -split "\`t", 2
        if ($value -notin ':files', ':folders', ':stay') {
            if (-not $description) { $description = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
        }
    }
}
`;

export const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, powershell };
