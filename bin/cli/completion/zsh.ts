// Completion for zsh: passes each command's words to _arguments.

import type { DescribedCommand, DescribedOption } from './described-command.ts';

export function zshCompletion(commands: readonly DescribedCommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, words, files, options }) => {
    const specs = [
      ...options.map(option),
      ...(words.length > 0 ? [quoted(`1:word:(${words.join(' ')})`)] : []),
      ...(files ? [quoted('*:file:_files')] : []),
    ];
    return `    ${name}) _arguments ${specs.join(' ')} ;;`;
  });
  return `#compdef longshore
# Completion of longshore for zsh: source <(longshore completion zsh), or a file _longshore in a folder of $fpath.
_longshore() {
  local -a known
  known=(
${described.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe -t commands command known
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _longshore ]]; then _longshore "$@"; else compdef _longshore longshore; fi
`;
}

function option({ name, type, multiple, values, path }: DescribedOption): string {
  const again = multiple ? '*' : '';
  if (type === 'boolean') return quoted(`${again}--${name}`);
  const action =
    path === 'directory' ? '_files -/' : path === 'file' ? '_files' : values ? `(${values.join(' ')})` : ' ';
  return quoted(`${again}--${name}=:${name}:${action}`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
