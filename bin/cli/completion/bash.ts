// Completion for bash: one function that inspects the words of the line.

import type { DescribedCommand, DescribedOption } from './described-command.ts';

export function bashCompletion(commands: readonly DescribedCommand[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options
      .filter(({ type }) => type === 'string')
      .map((option) => `    ${name}:--${option.name}) ${value(option)} ;;`),
  );
  const known = commands.map(({ name, words, files, options }) => {
    const flags = options.map((option) => `--${option.name}`).join(' ');
    return `    ${name}) options='${flags}' words='${words.join(' ')}' files=${files ? 1 : 0} ;;`;
  });
  return `# Completion of longshore for bash: source <(longshore completion bash)
_longshore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local options= words= files=0
  COMPREPLY=()
  # bash takes the = of --option=value for a word of its own.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    _longshore_words '${commands.map(({ name }) => name).join(' ')} --help --version'
    return
  fi
  case $command:$prev in
${values.join('\n')}
  esac
  case $command in
${known.join('\n')}
  esac
  if [[ $cur == -* ]]; then _longshore_words "$options"
  elif ((COMP_CWORD == 2)) && [[ -n $words ]]; then _longshore_words "$words"
  elif ((files)); then COMPREPLY=()
  else _longshore_words ''
  fi
}
# Nothing but these words: where they do not fit, no file is offered instead.
_longshore_words() {
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}
complete -o default -F _longshore longshore
`;
}

/** Where we offer nothing, bash offers files by default. */
function value({ values, path }: DescribedOption): string {
  if (path === 'directory') return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); return';
  return path === 'file' ? 'return' : `_longshore_words '${(values ?? []).join(' ')}'; return`;
}
