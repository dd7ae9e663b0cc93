import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { type DatasetId, targetId, type UserId } from '../../../engine/model/ids.ts';
import type { Profile } from '../../../engine/ports/access-people.ts';
import type { DatasetQueries, ListedDataset } from '../../../engine/ports/dataset-queries.ts';
import { listingItem, listRoute, peopleOf } from '../../../http/installer/listings.ts';
import { paging } from '../../../http/installer/paging.ts';
import { DATASET, FRIEND, listed, metadata, STRANGER, share } from './datasets.ts';
import { dataTypes, installTargets, OWNER } from './installation.ts';
import { listen } from './installer-app.ts';

/** The whole list only. */
const queriesOf = (list: DatasetQueries['list']): Pick<DatasetQueries, 'list' | 'page' | 'count'> => ({
  list,
  page: () => Promise.reject(new Error('no page was asked for')),
  count: () => Promise.reject(new Error('no count was asked for')),
});

const BIG = listed({ metadata: metadata({ description: 'x'.repeat(1_000_000) }) });

t.test('a listing that its client gives up ends its query, also while it waits for the client', async (t) => {
  let given = 0;
  const ended = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<ListedDataset> {
    try {
      for (;;) {
        given++;
        yield BIG;
      }
    } finally {
      ended.resolve();
    }
  }
  const route = listRoute({
    queries: queriesOf(endless),
    accounts: { find: async () => new Map() },
    dataTypes: dataTypes(),
    targets: installTargets(),
  });
  const server = await listen(t, [route]);
  const stop = new AbortController();
  const response = await fetch(`http://127.0.0.1:${server.port}/datasets`, {
    headers: { authorization: `Bearer ${OWNER}`, 'accept-encoding': 'identity' },
    signal: stop.signal,
  });
  t.equal(response.status, 200);
  // Nobody reads: the buffers on the way fill up, and the query is not asked any more.
  for (let still = 0, before = given; still < 500; still++, before = given) {
    await turn();
    if (given !== before) still = 0;
  }
  t.ok(given < 1_000, `${given} datasets were asked for ahead of the client`);
  stop.abort();
  await ended.promise;
});

t.test('a listing that skips none is the whole one', async (t) => {
  const route = listRoute({
    queries: queriesOf(async function* ({ offset = 0 }) {
      yield* [listed(), listed(), listed()].slice(offset);
    }),
    accounts: { find: async () => new Map() },
    dataTypes: dataTypes(),
    targets: installTargets(),
  });
  const server = await listen(t, [route]);
  const lengthOf = async (query: string): Promise<number> => {
    const url = `http://127.0.0.1:${server.port}/datasets${query}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${OWNER}` } });
    t.equal(response.status, 200, query);
    return ((await response.json()) as unknown[]).length;
  };
  for (const query of ['', '?offset=0']) t.equal(await lengthOf(query), 3, query);
  t.equal(await lengthOf('?offset=2'), 1);
  const { offset, limit } = paging;
  const said = `?offset=${offset.schema.default}&limit=${limit.schema.default}`;
  t.equal(await lengthOf(said), 3, 'as the defaults in the description of the API');
});

t.test('the people of 250 datasets are looked up in batches', async (t) => {
  const asked: number[] = [];
  async function* many(): AsyncGenerator<ListedDataset> {
    for (let i = 0; i < 250; i++) yield listed();
  }
  const route = listRoute({
    queries: queriesOf(many),
    accounts: {
      find: async (ids) => {
        asked.push(ids.length);
        return new Map();
      },
    },
    dataTypes: dataTypes(),
    targets: installTargets(),
  });
  const server = await listen(t, [route]);
  const response = await fetch(`http://127.0.0.1:${server.port}/datasets`, {
    headers: { authorization: `Bearer ${OWNER}` },
  });
  t.equal(((await response.json()) as unknown[]).length, 250);
  t.strictSame(asked, [1, 1, 1]);
});

const person = (userId: UserId): Profile => ({
  userId,
  firstName: `first ${userId}`,
  lastName: `last ${userId}`,
  email: `${userId}@x.org`,
  affiliation: `house ${userId}`,
});
const profiles = new Map([OWNER, FRIEND].map((id) => [id, person(id)]));
const view = { viewer: OWNER, guest: false, versionNamed: true, profiles, dataTypes: dataTypes() };

t.test('shows a dataset as the contract lists it', async (t) => {
  const dataset = listed({
    metadata: metadata({ description: 'More', visibility: 'protected', daysForApproval: 0 }),
    shares: [share(FRIEND, true, true), share(STRANGER, true, false), share('99' as UserId, false, true)],
    installs: [{ target: targetId('PlainSite'), kind: 'meta', status: 'complete', messages: [] }],
  });
  t.strictSame(listingItem(dataset, view), {
    datasetId: DATASET,
    owner: person(OWNER),
    type: { name: 'genelist', version: '1.0', category: 'Gene List' },
    visibility: 'controlled',
    name: 'My genes',
    origin: 'direct-upload',
    installTargets: ['PlainSite', 'GenomeSite'],
    status: {
      upload: { status: 'success' },
      import: { status: 'complete' },
      install: [
        { installTarget: 'PlainSite', meta: { status: 'complete' }, data: { status: 'queued' } },
        { installTarget: 'GenomeSite', meta: { status: 'queued' }, data: { status: 'queued' } },
      ],
    },
    shares: [
      { userId: FRIEND, firstName: 'first 77', lastName: 'last 77', affiliation: 'house 77', accepted: true },
      { userId: STRANGER, firstName: '', lastName: '', affiliation: '', accepted: false },
    ],
    fileCount: 2,
    fileSizeTotal: 30,
    created: '2030-01-02T03:04:05.678Z',
    summary: 'Genes that I like',
    description: 'More',
  });
});

t.test('a guest sees whose a dataset is by number, and by name when it is public', async (t) => {
  const asGuest = { ...view, viewer: '5' as UserId, guest: true };
  const nobody = { userId: OWNER, firstName: '', lastName: '', email: '', affiliation: '' };
  for (const visibility of ['private', 'protected'] as const)
    t.strictSame(listingItem(listed({ metadata: metadata({ visibility }) }), asGuest).owner, nobody, visibility);
  t.strictSame(listingItem(listed({ metadata: metadata({ visibility: 'public' }) }), asGuest).owner, person(OWNER));
});

t.test('shares are nobody else’s business', async (t) => {
  const dataset = listed({ shares: [share(FRIEND, true, true)] });
  t.strictSame(listingItem(dataset, { ...view, viewer: FRIEND }).shares, []);
  t.strictSame(peopleOf(dataset, FRIEND), [OWNER]);
  t.strictSame(peopleOf(dataset, OWNER), [OWNER, FRIEND]);
});

t.test('with a target asked for, only its install status is shown', async (t) => {
  const item = listingItem(listed(), { ...view, target: targetId('GenomeSite') });
  t.strictSame(item.installTargets, ['PlainSite', 'GenomeSite']);
  t.strictSame(
    item.status.install.map((install) => install.installTarget),
    ['GenomeSite'],
  );
});

t.test('installs are shown from a complete import on; messages when there are any', async (t) => {
  const waiting = listed({
    import: undefined,
    upload: { status: 'rejected', message: 'no good' },
    installs: [{ target: targetId('PlainSite'), kind: 'data', status: 'running', messages: ['x'] }],
  });
  t.strictSame(listingItem(waiting, view).status, {
    upload: { status: 'rejected', message: 'no good' },
    import: { status: 'queued' },
    install: [],
  });
  const invalid = listed({ import: { status: 'invalid', messages: ['bad row'] } });
  t.strictSame(listingItem(invalid, view).status.import, { status: 'invalid', messages: ['bad row'] });
  const running = listingItem({ ...waiting, import: { status: 'complete', messages: [] } }, view);
  t.strictSame(running.status.install[0]?.data, { status: 'running', messages: ['x'] });
});

t.test('a revision names its original, the original does not', async (t) => {
  const history = { originalId: DATASET, revisions: [] };
  const revision = listed({ dataset: `${DATASET}_1` as DatasetId, metadata: metadata({ revisionHistory: history }) });
  t.equal(listingItem(revision, view).originalId, DATASET);
  t.notOk('originalId' in listingItem(listed({ metadata: metadata({ revisionHistory: history }) }), view));
});

t.test('a type that is no longer registered shows its name as category', async (t) => {
  const dataset = listed({ metadata: metadata({ type: { name: 'ancient', version: '0' } }) });
  t.strictSame(listingItem(dataset, view).type, { name: 'ancient', version: '0', category: 'ancient' });
});
