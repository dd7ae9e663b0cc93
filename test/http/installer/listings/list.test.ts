import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { ListedDataset } from '../../../../engine/ports/dataset-queries.ts';
import { listRoute } from '../../../../http/installer/listings/list.ts';
import { openPageParameters } from '../../../../http/kernel/pipeline/paging.ts';
import { listed, metadata } from '../datasets.ts';
import { dataTypes, installTargets, OWNER } from '../installation.ts';
import { listen } from '../installer-app.ts';

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
    queries: { list: endless },
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
    queries: {
      list: async function* ({ offset = 0 }) {
        yield* [listed(), listed(), listed()].slice(offset);
      },
    },
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
  const { offset, limit } = openPageParameters(-1);
  const said = `?offset=${offset.schema.default}&limit=${limit.schema.default}`;
  t.equal(await lengthOf(said), 3, 'as the defaults in the description of the API');
});

t.test('the people of 250 datasets are looked up in batches', async (t) => {
  const asked: number[] = [];
  async function* many(): AsyncGenerator<ListedDataset> {
    for (let i = 0; i < 250; i++) yield listed();
  }
  const route = listRoute({
    queries: { list: many },
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
