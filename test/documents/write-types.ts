// Writes the types of clients/typescript from the OpenAPI documents: `npm run clients:types`, after a route changed.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { CLIENT_DOCUMENTS, typesOf } from './client-types.ts';

t.test('types', async (t) => {
  for (const name of CLIENT_DOCUMENTS)
    await writeFile(
      join(import.meta.dirname, '..', '..', 'clients', 'typescript', 'src', `${name}.ts`),
      await typesOf(t, name),
    );
});
