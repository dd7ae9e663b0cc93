// Completion for fish: one line per word and option.

import type { DescribedCommand, DescribedOption } from './described-command.ts';

export function fishCompletion(commands: readonly DescribedCommand[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary, words, files, options } = command;
    const seen = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    const none = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${words.join(' ')}`;
    return [
      `complete -c longshore -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...(words.length > 0 ? [`complete -c longshore -n ${quoted(none)} -a ${quoted(words.join(' '))}`] : []),
      ...(files ? [`complete -c longshore ${seen} -F`] : []),
      ...options.map((option) => `complete -c longshore ${seen} -l ${option.name}${value(option)}`),
    ];
  });
  return `# Completion of longshore for fish: longshore completion fish | source
complete -c longshore -f
${lines.join('\n')}
`;
}

function value({ type, values, path }: DescribedOption): string {
  if (type === 'boolean') return '';
  if (path === 'directory') return " -x -a '(__fish_complete_directories)'";
  if (path === 'file') return ' -r -F';
  return values ? ` -x -a ${quoted(values.join(' '))}` : ' -x';
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
