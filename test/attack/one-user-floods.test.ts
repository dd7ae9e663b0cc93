// One user fills the queues; another one comes last, and asks for one thing.

import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { FormData, fetch } from 'undici';
import { zipOf } from '../fixtures/archives.ts';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

const FLOOD = 100;
const [FLOODER, OTHER] = ['666', '42'];
const POLL_MS = 100;

interface Listed {
  readonly datasetId: string;
  readonly status: { readonly install?: readonly { readonly data?: { readonly status: string } }[] };
}

t.test('one user has a hundred uploads waiting: those of another are installed before most of them', async (t) => {
  const app = await victim(t);
  const headers = async (user: string) => ({
    authorization: `Bearer ${await app.token(user)}`,
    'api-version': '1.8.0',
  });
  const [flooder, other] = [await headers(FLOODER), await headers(OTHER)];
  const upload = async (as: typeof other): Promise<string> => {
    const body = new FormData();
    const type = { name: 'genelist', version: '1.0' };
    const details = { name: 'Genes', summary: 'Genes', origin: 'direct-upload', installTargets: ['AlphaDB'], type };
    body.append('details', new Blob([JSON.stringify(details)], { type: 'application/json' }));
    body.append('dataFile', new Blob(['PF3D7_0100100\n']), 'genes.txt');
    for (;;) {
      const answer = await fetch(`${app.endpoints.installer}/datasets`, { method: 'POST', headers: as, body });
      if (answer.status === 202) return ((await answer.json()) as { datasetId: string }).datasetId;
      t.equal(answer.status, 429, await answer.text());
    }
  };
  const installed = async (as: typeof other): Promise<number> => {
    const answer = await fetch(`${app.endpoints.installer}/datasets`, { headers: as });
    const list = (await answer.json()) as Listed[];
    return list.filter(({ status }) => status.install?.some(({ data }) => data?.status === 'complete')).length;
  };
  /** The milliseconds until an upload of the other is installed. */
  const served = async (): Promise<number> => {
    const [already, begun] = [await installed(other), performance.now()];
    await upload(other);
    while ((await installed(other)) === already) await setTimeout(POLL_MS);
    return performance.now() - begun;
  };
  await served(); // the first one of a process is slower
  const idle = await served();
  // As many at a time as one user may.
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let n = 0; n < FLOOD / 4; n++) await upload(flooder);
    }),
  );
  const before = await installed(flooder);
  const flooded = await served();
  const after = await installed(flooder);
  t.comment(`the other was served in ${idle.toFixed(0)} ms before the flood, in ${flooded.toFixed(0)} ms during it`);
  t.comment(`${before} of ${FLOOD} were installed when the other came, ${after} when it was served`);
  t.ok(FLOOD - before >= 20, 'the queues were full');
  t.ok(after - before <= (FLOOD - before) / 2, 'most of the flood is still waiting');
  await app.holds(t);
});

t.test('one user has uploads dripping to the handler service, as many as it takes: another is served', async (t) => {
  const app = await victim(t);
  const url = app.endpoints.handler;
  const register = async (id: string, owner: number): Promise<void> => {
    const body = JSON.stringify({ projects: ['AlphaDB'], owner, name: 'Genes' });
    const answer = await fetch(`${url}/job/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body,
    });
    t.equal(answer.status, 204);
  };
  for (let n = 0; n < FLOOD; n++) {
    await register(`drip-${n}`, Number(FLOODER));
    const drip = await attacker(t, url);
    const head = 'Host: x\r\nContent-Type: application/zip\r\nContent-Length: 500000000\r\nExpect: 100-continue';
    drip.socket.write(`POST /job/drip-${n} HTTP/1.1\r\n${head}\r\n\r\nPK`);
    await drip.begun;
  }
  await register('other', Number(OTHER));
  const answer = await fetch(`${url}/job/other`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: await zipOf({ 'genes.txt': 'PF3D7_0100100\n' }),
  });
  t.equal(answer.status, 200);
  await answer.arrayBuffer();
  await app.holds(t);
});
