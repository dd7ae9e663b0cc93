// Access requests whose texts are as long as may be, changed again and again, and many who ask for them and take nothing.

import { randomInt } from 'node:crypto';
import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { attacker } from './support/attacker.ts';
import { victim } from './support/victim.ts';

/** Of the history, as long as a page may be. */
const CHANGES = 100;
const TEXT_LENGTH = 32_768;
const READERS = 40;
const [OWNER, REQUESTER] = ['941', '942'];

const app = await victim(t);
const { installer, access } = app.endpoints;
const tokens = { owner: await app.token(OWNER), requester: await app.token(REQUESTER) };
const id = await new Api(installer, tokens.owner).upload(
  detailsOf('genelist', { installTargets: ['AlphaDB'], visibility: 'controlled' }),
  [{ name: 'genes.txt', content: geneList(5) }],
);

async function ask(method: string, path: string, body: unknown, status: number): Promise<void> {
  const headers = { authorization: `Bearer ${tokens.requester}`, 'content-type': 'application/json' };
  const response = await fetch(access + path, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${text}`);
}

/** Of letters that take three bytes each, so that the text is as long as a text can be; none like another. */
const text = (): string => String.fromCharCode(...Array.from({ length: TEXT_LENGTH }, () => randomInt(0x4e00, 0x9fff)));
const NAMES = ['purpose', 'researchQuestion', 'analysisPlan', 'disseminationPlan', 'priorAuth'];
const short = Object.fromEntries(NAMES.map((name) => [name, 'x']));
const request = { ...short, userId: Number(REQUESTER), datasetId: id };
await ask('POST', '/dataset-end-users', request, 200);
for (let i = 1; i < CHANGES; i++) {
  const items = NAMES.map((name) => ({ op: 'replace', path: `/${name}`, value: text() }));
  await ask('PATCH', `/dataset-end-users/${REQUESTER}-${id}`, items, 204);
}

t.test('a history of long texts: readers that take nothing cost a bounded amount of memory', async (t) => {
  const attackers = await Promise.all(Array.from({ length: READERS }, () => attacker(t, access)));
  const head = `GET /history HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokens.owner}\r\n\r\n`;
  for (const { socket } of attackers) socket.write(head);
  // Nobody reads on, but each answer has begun, or its connection was closed for the others' sake.
  await Promise.all(attackers.map((one) => one.begun));
  await app.holds(t);
  for (const { socket } of attackers) socket.destroy();
});
