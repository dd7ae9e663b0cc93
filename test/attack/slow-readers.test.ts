// Readers of a large download that take none of it, as many as a listener has places.

import { randomBytes } from 'node:crypto';
import t from 'tap';
import { fetch } from 'undici';
import { Api, detailsOf } from '../support/api.ts';
import { attacker } from './support/attacker.ts';
import { servedVictim } from './support/victim.ts';

const PLACES = 60;
/** More than the system takes of an answer that nobody reads. */
const FILE_BYTES = 16 * 1024 * 1024;

t.test('readers that take nothing: others get a place', async (t) => {
  const app = await servedVictim(t, { limits: { maxConnections: PLACES, connectionsPerAddress: PLACES } });
  const token = await app.token('42');
  const api = new Api(app.url, token);
  const id = await api.upload(detailsOf('genelist', { installTargets: ['SiteA'] }), [
    { name: 'genes.txt', content: randomBytes(FILE_BYTES) },
  ]);
  const path = `/datasets/${id}/files/upload`;
  const isThere = async (): Promise<boolean> => {
    const { status } = await fetch(app.url + path, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } });
    return status === 200;
  };
  while (!(await isThere()));
  for (let i = 0; i < PLACES; i++) {
    const { socket } = await attacker(t, app.url);
    socket.pause().write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
  }
  // Readers lose their places long before they would by their timeout of a minute.
  await app.servesOthers(t);
});
