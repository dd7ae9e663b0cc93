// An archive of a few megabytes that is much work: tens of thousands of empty files.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { writeZip } from '../../engine/archive/zip-writer.ts';
import { Api, detailsOf } from '../support/api.ts';
import { longshore } from '../support/longshore.ts';
import { victim } from './support/victim.ts';

const COUNT = 60_000;

t.test(`an archive of ${COUNT} empty files is refused at once, with the bound and the number`, async (t) => {
  const app = await victim(t);
  const file = join(app.dir, 'many.zip');
  const body = new Uint8Array();
  const entries = Array.from({ length: COUNT }, (_, n) => ({ path: `some-folder/file-${n}.txt`, size: 0, body }));
  await writeZip(file, entries, { level: 0 }, new AbortController().signal);
  const zip = await readFile(file);
  t.comment(`${zip.length} bytes`);
  const token = await app.token('8');
  const { installer } = app.endpoints;
  const id = await new Api(installer, token).upload(detailsOf('genelist', { installTargets: ['AlphaDB'] }), [
    { name: 'genes.zip', content: zip },
  ]);
  const watched = await longshore(['watch', id, '--server', installer, '--token', token]);
  t.match(watched.stderr, /upload rejected/, 'it is the fault of the upload, and nothing was imported');
  t.notMatch(watched.stderr, /import/);
  const told = await (
    await fetch(`${installer}/datasets/${id}`, { headers: { authorization: `Bearer ${token}` } })
  ).text();
  t.match(told, new RegExp(`the archive has ${COUNT} entries; at most 10000 are allowed`));
  await app.holds(t);
});
