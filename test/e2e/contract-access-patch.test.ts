// The contract of dataset access on the running program: what may be changed of an access request, by whom, and what it may become.

import t from 'tap';
import type { AccessRowId } from '../contract/access.ts';
import { accessWorld, bodyOf, DATASET, item, type Person, replace } from '../contract/access-world.ts';

const at = await accessWorld(t);
const { ask, become, guest, manager, owner, provider, row, staff, stranger } = at;

// Patches, by path
interface PathCase {
  readonly path: string;
  readonly value: unknown;
  readonly wrong: unknown;
  /** What a removal leaves; absent when only replace is allowed. */
  readonly removed?: (value: unknown) => boolean;
  readonly ownToo?: boolean;
}
const text = (name: string, path = `/${name}`): readonly [string, readonly PathCase[]] => [
  name,
  [{ path, value: 'New text', wrong: 5, ownToo: true }],
];
const PATHS: readonly (readonly [string, readonly PathCase[]])[] = [
  [
    'startDate',
    [
      {
        ...{ path: '/startDate', value: '2026-02-03T04:05:06.000Z', wrong: 'soon' },
        removed: (value) => Math.abs(Date.parse(String(value)) - Date.now()) < 60_000,
      },
    ],
  ],
  ['duration', [{ path: '/duration', value: 77, wrong: 'long', removed: (value) => value === -1 }]],
  ['restrictionLevel', [{ path: '/restrictionLevel', value: 'public', wrong: 'open' }]],
  text('purpose'),
  text('researchQuestion'),
  text('analysisPlan'),
  text('disseminationPlan'),
  ['priorAuth', [...text('priorAuth')[1], ...text('priorAuth', 'priorAuth')[1]]],
  ['approvalStatus', [{ path: '/approvalStatus', value: 'approved', wrong: 'maybe' }]],
  ['denialReason', [{ path: '/denialReason', value: 'Why', wrong: 5, removed: (value) => value === undefined }]],
];
for (const [field, cases] of PATHS)
  row(`access/patch/${field}` as AccessRowId, async (t) => {
    for (const { path, value, wrong, removed, ownToo } of cases) {
      const asked = await at.requester();
      const send = (who: Person, ...items: unknown[]) => who.client.send('PATCH', asked.path, items);
      const now = async () => bodyOf(await owner.client.get(asked.path))[field];
      const was = await now();
      t.equal((await send(manager, replace(path, wrong))).status, 422, 'value');
      for (const op of ['add', 'remove'])
        if (!removed) t.equal((await send(manager, item(op, path, value))).status, 403, op);
      t.strictSame(await now(), was);
      t.equal((await send(asked, replace(path, value))).status, ownToo ? 204 : 403, 'requester');
      t.strictSame(await now(), ownToo ? value : was);
      t.equal((await send(manager, replace(path, value))).status, 204, 'manager');
      t.strictSame(await now(), value);
      if (removed) {
        t.equal((await send(owner, item('remove', path))).status, 204);
        t.ok(removed(await now()));
        t.equal((await send(owner, item('add', path, value))).status, 204);
        t.strictSame(await now(), value);
      }
      if (!ownToo) continue;
      t.equal((await send(manager, replace('/approvalStatus', 'approved'))).status, 204);
      t.equal((await send(asked, replace(path, 'Later'))).status, 403, 'while requested');
      t.equal((await send(manager, replace(path, 'Later'))).status, 204, 'at any time');
    }
  });
row('access/patch/any other path', async (t) => {
  const { path } = await at.requester();
  for (const other of [
    '/userId',
    '/datasetId',
    '/dateDenied',
    '/purpose/0',
    'purpose',
    '//purpose',
    '/Purpose',
    '/__proto__',
  ])
    t.equal((await owner.client.send('PATCH', path, [replace(other, 'x')])).status, 403, other);
});
row('access/patch/any other operation', async (t) => {
  const { path } = await at.requester();
  for (const op of ['move', 'copy', 'test', 'Replace', ''])
    t.equal((await owner.client.send('PATCH', path, [item(op, '/duration', 5)])).status, 403, op);
});
row('access/patch/any other caller', async (t) => {
  const { path } = await at.requester();
  for (const who of [stranger, provider, staff, guest])
    t.equal((await who.client.send('PATCH', path, [replace('/purpose', 'x')])).status, 403);
});
row('access/patch/all or none', async (t) => {
  const { path, client } = await at.requester();
  const before = bodyOf(await client.get(path));
  const good = replace('/purpose', 'Changed');
  t.equal((await owner.client.send('PATCH', path, [good, replace('/duration', 'x')])).status, 422);
  t.equal((await owner.client.send('PATCH', path, [good, replace('/none', 'x')])).status, 403);
  t.strictSame(bodyOf(await client.get(path)), before);
  t.equal((await owner.client.send('PATCH', path, [good, replace('/purpose', 'Again')])).status, 204);
  t.equal(bodyOf(await client.get(path)).purpose, 'Again', 'in order');
});
row('access/patch/If-Match', async (t) => {
  const { path, client } = await at.requester();
  const etag = (await client.get(path)).headers.get('etag') ?? '';
  const change = (value: string, tag: string) =>
    client.send('PATCH', path, [replace('/purpose', value)], { 'if-match': tag });
  t.equal((await change('First', etag)).status, 204);
  t.equal((await change('Second', etag)).status, 412);
  t.equal(bodyOf(await client.get(path)).purpose, 'First');
});

// States
const MOVES = [
  ['requested', 'approved', 204],
  ['requested', 'denied', 204],
  ['denied', 'requested', 204],
  ['denied', 'approved', 204],
  ['approved', 'denied', 204],
  ['approved', 'requested', 422],
] as const;
let nobodyYet = 9_000;
const inState = async (status: string): Promise<string> => {
  const userId = ++nobodyYet;
  bodyOf(await ask(manager, { userId, approvalStatus: status }));
  return `/dataset-end-users/${userId}-${DATASET}`;
};
for (const [from, to, code] of MOVES)
  row(`access/states/${from} to ${to}` as AccessRowId, async (t) => {
    const path = await inState(from);
    t.equal(await become(path, to), code);
    const { approvalStatus, denialReason } = bodyOf(await manager.client.get(path));
    t.equal(approvalStatus, code === 204 ? to : from);
    if (approvalStatus === 'denied') t.ok(String(denialReason).length > 0, 'a reason');
  });
row('access/states/to unrequested', async (t) => {
  for (const from of ['requested', 'approved', 'denied'])
    t.equal(await become(await inState(from), 'unrequested'), 422);
});
row('access/states/same', async (t) => {
  for (const status of ['requested', 'approved', 'denied']) {
    const path = await inState(status);
    const before = await manager.client.get(path);
    t.equal(await become(path, status), 204);
    t.equal((await manager.client.get(path)).headers.get('etag'), before.headers.get('etag'), status);
  }
});
