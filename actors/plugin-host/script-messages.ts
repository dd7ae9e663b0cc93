// Lines that a script prints are messages for the dataset's owner.

import type { Messages } from './wire-documents.ts';

const PREFIX = /^(basic|community):(.*)$/;

/** `basic:` and `community:` at the start of a line choose the list; other lines are basic, blank ones nothing. */
export function splitMessages(lines: readonly string[]): Messages {
  const basic: string[] = [];
  const community: string[] = [];
  for (const line of lines) {
    const [, list, text = ''] = PREFIX.exec(line) ?? [undefined, 'basic', line];
    if (text.trim() === '') continue;
    (list === 'community' ? community : basic).push(text.trim());
  }
  return { basic, community };
}
