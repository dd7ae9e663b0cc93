// Writes docs/contract from the rows of this folder: `npm run docs:contract`, after a row changed.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractPages } from '../support/contract-pages.ts';

for (const [file, text] of contractPages()) writeFileSync(join(import.meta.dirname, '..', '..', file), text);
