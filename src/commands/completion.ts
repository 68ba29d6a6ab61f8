/**
 * The scripts that shells load. The scripts of yargs do not fit: its bash script needs bash 4, which macOS does not have, its fish script
 * offers no files, and each prints for the login shell instead of the shell that runs. Our scripts set SHELL, which yargs reads.
 */
const BASH = `# Completion of fieldwork-sync for bash. Load it in ~/.bashrc:  source <(fieldwork-sync completion bash)
_fieldwork_sync() {
  local one current=\${COMP_WORDS[COMP_CWORD]}
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # bash makes three words of --format=csv.
  [[ $current == '=' ]] && current=
  COMPREPLY=()
  # compgen -W is not used: it runs what stands in $(...) in an unfinished line.
  while IFS= read -r one; do
    [[ $one == "$current"* ]] && COMPREPLY+=("$one")
  done < <(SHELL=bash fieldwork-sync --get-yargs-completions "\${words[@]}" 2>/dev/null)
}
# Without any completion, bash completes paths.
complete -o bashdefault -o default -F _fieldwork_sync fieldwork-sync
`

const ZSH = `#compdef fieldwork-sync
# Completion of fieldwork-sync for zsh. Load it in ~/.zshrc, after compinit:  source <(fieldwork-sync completion zsh)
# Or write it to a file _fieldwork-sync in a directory of $fpath.
_fieldwork_sync() {
  local -a found
  found=("\${(@f)$(SHELL=zsh fieldwork-sync --get-yargs-completions "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  found=(\${found:#})
  [[ $PREFIX == --*=* ]] && compset -P '*='
  if (( $#found )); then _describe fieldwork-sync found; else _files; fi
}
if [[ \${zsh_eval_context[-1]} == loadautofunc ]]; then _fieldwork_sync "$@"; else compdef _fieldwork_sync fieldwork-sync; fi
`

const FISH = `# Completion of fieldwork-sync for fish. Load it once:
#   fieldwork-sync completion fish > ~/.config/fish/completions/fieldwork-sync.fish
function __fieldwork_sync
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -e words[1]
    set -l flag (string match -r -- '^--[^=]+=' "$current")
    set -l found (SHELL=fish command fieldwork-sync --get-yargs-completions $words "$current" 2>/dev/null)
    # Without any completion, it completes paths.
    set -q found[1]; or set found (__fish_complete_path (string replace -r -- '^--[^=]+=' '' "$current"))
    for one in $found
        echo "$flag$one"
    end
end
complete -c fieldwork-sync -f -a '(__fieldwork_sync)'
`

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const
