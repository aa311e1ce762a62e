# Completion of voxform for fish: voxform completion fish > ~/.config/fish/completions/voxform.fish
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
                    printf '%s\n' "$lead$path"
                end
            case :folders
                __fish_complete_directories "$current" ''
            case :stay
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c voxform -f -a '(__voxform_complete)'
