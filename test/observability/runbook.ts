// docs/runbooks.md, read: its sections by the name of their alert, and the commands in them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/readmes.ts';

export const RUNBOOKS = 'docs/runbooks.md';

const PAGE = readFileSync(join(ROOT, RUNBOOKS), 'utf8');

/** By alert, in the order of the page. */
export const SECTIONS: ReadonlyMap<string, string> = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .flatMap((section): [string, string][] => {
      const [heading = '', ...lines] = section.split('\n');
      return heading.startsWith('Longshore') ? [[heading, lines.join('\n')]] : [];
    }),
);

/** Commands of `longshore` in the text: lines of its blocks, which may be indented, and code spans. */
export function commandsIn(text: string): readonly string[] {
  const parts = text.split(/^ *```$/m);
  const lines = parts.filter((_, at) => at % 2 === 1).flatMap((block) => block.split('\n'));
  const prose = parts.filter((_, at) => at % 2 === 0).join('\n');
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  return [...lines, ...spans]
    .map((one) => one.trim().replaceAll(/\s+/g, ' '))
    .filter((one) => /^longshore [a-z]/.test(one));
}

/** The first command of the alert's section that begins so. */
export function commandOf(alert: string, start: string): string {
  const found = commandsIn(SECTIONS.get(alert) ?? '').find((command) => command.startsWith(`longshore ${start}`));
  if (found === undefined) throw new Error(`${RUNBOOKS}, ${alert}: no command longshore ${start}`);
  return found;
}

/** Of the whole page. */
export const pageCommands = (): readonly string[] => commandsIn(PAGE);
