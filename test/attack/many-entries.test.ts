// An archive of a few megabytes that is much work: tens of thousands of empty files.

import t from 'tap';
import { zipOf } from '../fixtures/archives.ts';
import { Api, detailsOf } from '../support/api.ts';
import { longshore } from '../support/longshore.ts';
import { victim } from './support/victim.ts';

const COUNT = 60_000;

t.test(`an archive of ${COUNT} empty files is refused at once, with the bound and the number`, async (t) => {
  const app = await victim(t);
  const names = Array.from({ length: COUNT }, (_, n) => [`folder-of-some-length/file-${n}.txt`, ''] as const);
  const zip = await zipOf(Object.fromEntries(names));
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
  t.notMatch(told, /127\.0\.0\.1/);
  await app.holds(t);
});
