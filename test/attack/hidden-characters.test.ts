// Names that look like other names: characters that nobody sees turn the direction of what follows them.

import t from 'tap';
import { fetch } from 'undici';
import { zipOf } from '../fixtures/archives.ts';
import { Api, detailsOf, formOf } from '../support/api.ts';
import { longshore } from '../support/longshore.ts';
import { victim } from './support/victim.ts';

/** Shown as `geneexe.txt`. */
const NAME = 'gene\u202etxt.exe';

t.test('no name with hidden characters gets in, and the answer says which and where', async (t) => {
  const app = await victim(t);
  const token = await app.token('8');
  const { installer, handler } = app.endpoints;
  const headers = { authorization: `Bearer ${token}` };
  const create = async (details: object, file: string): Promise<[number, string]> => {
    const body = formOf({ ...detailsOf('genelist', { installTargets: ['AlphaDB'] }), ...details }, [
      { name: file, content: 'PF3D7_0100100\n' },
    ]);
    const answer = await fetch(`${installer}/datasets`, { method: 'POST', headers, body });
    return [answer.status, await answer.text()];
  };
  const named = /the character U\+202E at position 5/;
  t.match(await create({ name: NAME }, 'genes.txt'), [422, named]);
  t.match(await create({ contacts: [{ firstName: NAME, lastName: 'B', isPrimary: true }] }, 'genes.txt'), [422, named]);
  t.match(await create({ name: 'two\nlines' }, 'genes.txt'), [422, /U\+000A at position 4, a line break/]);
  t.match(await create({}, NAME), [400, named]);
  t.match(await create({ summary: 'one\ntwo', description: 'a\tb\r\nc' }, 'genes.txt'), [202, /datasetId/]);

  const zip = { name: 'genes.zip', content: await zipOf({ [NAME]: 'PF3D7_0100100\n' }) };
  const id = await new Api(installer, token).upload(detailsOf('genelist', { installTargets: ['AlphaDB'] }), [zip]);
  t.match((await longshore(['watch', id, '--server', installer, '--token', token])).stderr, /upload rejected/);
  t.match(await (await fetch(`${installer}/datasets/${id}`, { headers })).text(), /gene<U\+202E>txt\.exe.*U\+202E at/);

  const job = await fetch(`${handler}/job/hidden`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ projects: ['AlphaDB'], owner: 42, name: NAME }),
  });
  t.match([job.status, await job.text()], [422, named]);
});
