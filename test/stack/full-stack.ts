// A dataset on the whole stack, by the sample configuration for it: uploaded over HTTP, stored in S3, announced through
// RabbitMQ, routed over Kafka, imported by a plugin over HTTP, installed into two databases that a directory names.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { Test } from 'tap';
import { fetch } from 'undici';
import { systemClock } from '../../engine/runtime/time.ts';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { FRIEND, life, OWNER } from '../support/life.ts';
import { longshore, running } from '../support/longshore.ts';
import { freePort } from '../support/ports.ts';
import { wholeState } from '../support/site-state.ts';
import { type Installation, TARGETS } from './installation.ts';
import type { AnnouncingStore } from './object-changes.ts';
import { placesOf } from './places.ts';

const LOOK_MS = 100;
const PATIENCE_MS = 60_000;

/** Runs on a new installation. */
export async function fullStack(t: Test, at: Installation<AnnouncingStore>): Promise<void> {
  const port = await freePort();
  const env = { ...process.env, ...at.environment(port) };
  const url = `http://127.0.0.1:${port}`;
  const command = (...args: readonly string[]) => longshore(args, { env });
  const config = ['--config', at.file];

  await t.test('everything is set up by two commands', async (t) => {
    t.match(await command('config', 'check', at.file), { code: 0, stderr: '' });
    t.match(await command('migrate', ...config), { code: 0, stdout: /^cache database: applied 1/ });
    for (const target of TARGETS)
      t.match(await command('migrate-target', target, ...config), { code: 0, stdout: /applied 1/ });
  });

  await t.test('from an upload over HTTP to rows in two databases and back', async (t) => {
    const plugin = await running(t, ['plugin', ...config, '--id', 'genelist'], { env });
    const service = await running(t, ['serve', ...config], { env });
    const health = (await (await fetch(`${url}/health`)).json()) as {
      dependencies: { name: string; online: string }[];
    };
    t.same(
      health.dependencies.filter(({ online }) => online !== 'yes'),
      [],
    );
    t.match(
      health.dependencies
        .map(({ name }) => name)
        .sort()
        .join(),
      /cache-db.*directory.*log-broker.*object-store.*queue-broker/,
    );

    const token = await tokenOf('8');
    const api = new Api(url, token);
    const begun = performance.now();
    const id = await api.upload(detailsOf('genelist', { installTargets: TARGETS }), [
      { name: 'genes.txt', content: geneList(20) },
    ]);
    const watched = await longshore(['watch', id, '--server', url, '--token', token]);
    t.equal(watched.stdout, 'installed\n', watched.stderr);
    t.comment(`installed ${((performance.now() - begun) / 1000).toFixed(1)} s after the upload began`);

    const rows = async (target: (typeof TARGETS)[number], schema: string): Promise<unknown> => {
      const client = new pg.Client(at.sites[target]);
      await client.connect();
      const { rows } = await client.query(`select count(*)::int as n from ${schema}.genelist where dataset_id = $1`, [
        id,
      ]);
      await client.end();
      return rows[0]?.n;
    };
    t.same([await rows('AlphaDB', 'alpha_data'), await rows('BetaDB', 'beta_data')], [20, 20]);
    for (const target of TARGETS)
      t.match(await readdir(join(at.dir, 'installed', 'build-68', target, id)), ['formatted_gene_list.txt']);
    const keys = (await at.store.client().listObjectsV2(at.bucket, `8/${id}/`, true).toArray()) as { name: string }[];
    t.match(
      keys.map(({ name }) => name),
      [`8/${id}/import-ready.zip`, `8/${id}/install-ready.zip`, `8/${id}/vdi-manifest.json`, `8/${id}/vdi-meta.json`],
    );

    t.equal(await api.send('DELETE', `/datasets/${id}`), 204);
    await uninstalled(id);
    t.same([await rows('AlphaDB', 'alpha_data'), await rows('BetaDB', 'beta_data')], [0, 0]);
    t.equal(await service.stop(), 0);
    t.equal(await plugin.stop(), 0);
  });

  await t.test('a whole life', async (t) => {
    const plugin = await running(t, ['plugin', ...config, '--id', 'genelist'], { env });
    const service = await running(t, ['serve', ...config], { env });
    const places = placesOf(at);
    await life(t, {
      owner: new Api(url, await tokenOf(OWNER)),
      friend: new Api(url, await tokenOf(FRIEND)),
      // Nobody knows of everything that is on its way through these servers: looked at until it is as expected.
      async stateOf(id, expected) {
        for (const begun = Date.now(); ; await systemClock.sleep(LOOK_MS, new AbortController().signal)) {
          const state = await wholeState(places, OWNER, id, 'genelist');
          if (isDeepStrictEqual(state, expected) || Date.now() - begun > PATIENCE_MS) return state;
        }
      },
      prune: (...args) => command('prune', '--server', url, ...args),
    });
    t.equal(await service.stop(), 0);
    t.equal(await plugin.stop(), 0);
  });

  async function tokenOf(user: string): Promise<string> {
    return (await command('token', ...config, '--user', user)).stdout.trim();
  }

  /** Woken by the cache's own notifications. */
  async function uninstalled(id: string): Promise<void> {
    const client = new pg.Client(at.cache);
    await client.connect();
    let woken = Promise.withResolvers<void>();
    client.on('notification', () => woken.resolve());
    await client.query('listen longshore_lease');
    for (;;) {
      const { rows } = await client.query(
        `select state = 'deleted' and not exists (select from installer.job where dataset_id = $1) as so
         from installer.dataset where dataset_id = $1`,
        [id],
      );
      if (rows[0]?.so) break;
      const net = setTimeout(() => woken.resolve(), 500);
      await woken.promise;
      clearTimeout(net);
      woken = Promise.withResolvers();
    }
    await client.end();
  }
}
