import { type Command, UsageError } from '../command.ts';

const BASH = `# bash completion of rdcp: source <(rdcp completion bash)
_rdcp() {
  local IFS=$'\\n' current="\${COMP_WORDS[COMP_CWORD]}" found line
  found="$("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)"
  COMPREPLY=()
  if [[ "$found" == ':files'* ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$current"))
    return
  fi
  while IFS= read -r line; do
    [[ -n "$line" ]] && COMPREPLY+=("\${line%%$'\\t'*}")
  done <<< "$found"
}
complete -F _rdcp rdcp`;

const ZSH = `#compdef rdcp
# zsh completion of rdcp: source <(rdcp completion zsh)
_rdcp() {
  local -a found offered
  local line
  found=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "\${found[1]}" == ':files'* ]]; then
    _files
    return
  fi
  for line in $found; do
    [[ -n "$line" ]] && offered+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe 'rdcp' offered
}
if [[ "\${funcstack[1]}" == '_rdcp' ]]; then
  _rdcp "$@"
else
  compdef _rdcp rdcp
fi`;

const FISH = `# fish completion of rdcp: rdcp completion fish | source
function __rdcp_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -q current[1]; or set current ''
    set -l found ($words[1] __complete $words[2..-1] $current 2>/dev/null)
    if string match -q ':files*' -- "$found[1]"
        __fish_complete_path $current
    else
        printf '%s\\n' $found
    end
end
complete -c rdcp -f -a '(__rdcp_complete)'`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;

export const completion: Command = {
  summary: 'print the completion script of a shell: bash, zsh or fish',
  operands: '<shell>',
  completes: Object.keys(SCRIPTS),
  options: {},
  notes: ['Categories are those of the service that the command line names, asked for with a timeout of 0.7 s.'],
  examples: [
    'source <(rdcp completion bash)   # in ~/.bashrc',
    'source <(rdcp completion zsh)    # in ~/.zshrc, after compinit',
    'rdcp completion fish > ~/.config/fish/completions/rdcp.fish',
  ],
  run: async (terminal, _values, [shell = '']) => {
    const script = Object.entries(SCRIPTS).find(([name]) => name === shell)?.[1];
    if (script === undefined) throw new UsageError(`the shell must be one of ${Object.keys(SCRIPTS).join(', ')}`);
    terminal.out(script);
  },
};
