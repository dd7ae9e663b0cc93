// Writes the tables of promises into test/README.md: `npm run docs:promises`, after a row or the name of a test changed.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { linesOfPage, tableLines } from '../support/promises-page.ts';

const page = join(import.meta.dirname, '..', 'README.md');
const text = readFileSync(page, 'utf8');
const [first = ''] = linesOfPage(text);
const begin = text.indexOf(`${first}\n`, text.indexOf('## Promises'));
const next = text.indexOf('\n## ', begin);
const tables = tableLines().map((line) => (line.startsWith('### ') ? `\n${line}\n` : line));
const rest = next < 0 ? '' : text.slice(next);
writeFileSync(page, `${text.slice(0, begin)}${tables.join('\n').trimStart()}\n${rest}`);
