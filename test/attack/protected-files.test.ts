// Whoever has an account, or none, tries to get the files of datasets that are protected or controlled, and to learn who
// owns them.

import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { settled } from '../support/site-state.ts';

const dir = join(await tempDir(t), 'data');
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const { installer, access } = app.endpoints;
const [OWNER, STRANGER] = ['941', '942'];
const named = ['--given-name', 'Olga', '--family-name', 'Doe', '--email', 'olga@lab.example'];
const tokens = {
  owner: await app.token(OWNER, ...named),
  stranger: await app.token(STRANGER),
  guest: await app.token('943', '--guest'),
  'guest with the number of the owner': await app.token(OWNER, '--guest'),
};
type Who = keyof typeof tokens;

async function call(who: Who, method: string, url: string, body?: object) {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${tokens[who]}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

const owner = new Api(installer, tokens.owner);
const primary = {
  ...{ firstName: 'Olga', lastName: 'Doe', email: 'olga@lab.example', affiliation: 'Lab', country: 'X' },
  isPrimary: true,
};
const details = (visibility: string) =>
  detailsOf('genelist', { visibility, installTargets: ['AlphaDB'], contacts: [primary] });
const make = (visibility: string) => owner.upload(details(visibility), [{ name: 'genes.txt', content: geneList(20) }]);
const datasets = { protected: await make('protected'), controlled: await make('controlled') };
await settled(dir);
for (const id of Object.values(datasets)) {
  const put = await fetch(`${installer}/datasets/${id}/files/documents/notes.pdf`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${tokens.owner}`, 'content-type': 'application/octet-stream' },
    body: 'notes',
  });
  if (put.status !== 204) throw new Error(`the document: ${put.status}`);
}
// The type has no property files: whoever may read them is told that there are none.
const FILES = ['upload', 'install', 'dataset-properties/p.tsv', 'variable-properties/p.tsv'];

for (const [visibility, id] of Object.entries(datasets)) {
  t.test(`the files of a ${visibility} dataset are for those who were given them`, async (t) => {
    for (const file of FILES)
      for (const who of ['stranger', 'guest', 'guest with the number of the owner'] as const) {
        const { status, text } = await call(who, 'GET', `${installer}/datasets/${id}/files/${file}`);
        t.equal(status, 403, `${who}: ${file}`);
        t.match(text, /"status":"forbidden"/);
      }
    for (const file of FILES)
      t.not((await call('owner', 'GET', `${installer}/datasets/${id}/files/${file}`)).status, 403, file);
    t.equal((await call('stranger', 'GET', `${installer}/datasets/${id}/files/documents/notes.pdf`)).status, 200);
  });

  t.test(`a guest who looks at a ${visibility} dataset learns of no person`, async (t) => {
    for (const path of ['/datasets/community', `/datasets/${id}/files/vdi-meta.json`, `/datasets/${id}/files`])
      for (const who of ['guest', 'guest with the number of the owner'] as const) {
        const { status, text } = await call(who, 'GET', installer + path);
        t.equal(status, 200, `${who}: ${path}`);
        t.notMatch(text, /Olga|Doe|olga@lab/, `${who}: ${path}`);
      }
    t.match(
      (await call('stranger', 'GET', `${installer}/datasets/community`)).text,
      /olga@lab/,
      'a user sees whom to ask',
    );
  });

  t.test(`a grant opens a ${visibility} dataset until it ends, everywhere at once`, async (t) => {
    const terms = { purpose: 'P', researchQuestion: 'R', analysisPlan: 'A', disseminationPlan: 'D', priorAuth: 'X' };
    const request = { ...terms, userId: Number(STRANGER), datasetId: id };
    const record = `${access}/dataset-end-users/${STRANGER}-${id}`;
    const decide = (path: string, value: unknown) => call('owner', 'PATCH', record, [{ op: 'replace', path, value }]);
    const seen = async () => {
      const { text } = await call('stranger', 'GET', `${access}/permissions/${id}`);
      const statuses = [];
      for (const file of FILES)
        statuses.push((await call('stranger', 'GET', `${installer}/datasets/${id}/files/${file}`)).status);
      return { statuses, resultsAll: JSON.parse(text).actionAuthorization.resultsAll as boolean };
    };
    const CLOSED = { statuses: FILES.map(() => 403), resultsAll: false };
    const OPEN = { statuses: [200, 200, 404, 404], resultsAll: true };
    t.strictSame(await seen(), CLOSED, 'nothing was asked');
    t.match(await call('stranger', 'POST', `${access}/dataset-end-users`, request), { status: 200 });
    t.strictSame(await seen(), CLOSED, 'requested');
    t.match(await call('stranger', 'PATCH', record, [{ op: 'replace', path: '/approvalStatus', value: 'approved' }]), {
      status: 403,
    });
    t.strictSame(await seen(), CLOSED, 'who asks does not decide');
    t.match(await decide('/approvalStatus', 'approved'), { status: 204 }, 'the owner manages the requests');
    t.strictSame(await seen(), OPEN, 'approved');
    t.match(await decide('/approvalStatus', 'denied'), { status: 204 });
    t.strictSame(await seen(), CLOSED, 'denied');
    t.match(await call('owner', 'GET', `${access}/history`), { status: 200, text: new RegExp(id) });
    const { text } = await call('owner', 'GET', `${access}/dataset-end-users?datasetId=${id}`);
    t.match(JSON.parse(text), { total: 1, data: [{ approvalStatus: 'denied', restrictionLevel: visibility }] });
  });
}
