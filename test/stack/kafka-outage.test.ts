// The whole product while its Kafka is killed under uploads, and after Kafka removed events that nobody had read.
//   LONGSHORE_KAFKA_DATASETS=500 LONGSHORE_KAFKA_AWAY=30      datasets, and seconds that the broker is away each time

import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import kafkajs from 'kafkajs';
import pg from 'pg';
import t, { type Test } from 'tap';
import { systemClock } from '../../engine/runtime/time.ts';
import { longshore } from '../support/longshore.ts';
import { KAFKA_ACCOUNT } from './installation.ts';
import { forbid } from './kafka-permissions.ts';
import { checkDatasets, checkQueues, waitForReaders } from './scale-out/end-state.ts';
import { partitionsBehind } from './scale-out/kafka-group.ts';
import { Progress } from './scale-out/progress.ts';
import { openSite, type Site } from './scale-out/site.ts';
import { Teardowns } from './scale-out/teardowns.ts';
import { Uploads } from './scale-out/uploads.ts';

const { ConfigResourceTypes } = kafkajs;
const signal = new AbortController().signal;
const DATASETS = Number(process.env.LONGSHORE_KAFKA_DATASETS ?? 40);
const AWAY_MS = Number(process.env.LONGSHORE_KAFKA_AWAY ?? 3) * 1_000;
const KILLS = 3;
const LOST = 5;
const PATIENCE_MS = 240_000;
const LOOK_MS = 200;
const TOPIC = 'soft-delete-triggers';

const findingsOf = (t: Test) => ({
  none: (fact: string, wrong: readonly string[]) => void t.same(wrong, [], fact),
  holds: (fact: string, is: boolean, otherwise = '') => void t.ok(is, `${fact} ${otherwise}`),
});

async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(LOOK_MS, signal);
}

/** Stopped in good order, with nothing left to do. */
async function atTheEnd(t: Test, site: Site, uploads: Uploads): Promise<void> {
  await waitForReaders(site);
  await checkDatasets(site, uploads, findingsOf(t));
  for (const serve of site.processes) t.equal(await serve.stop(), 0, `${serve.name} stops in good order`);
  await checkQueues(site, findingsOf(t));
  if (t.passing()) await rm(site.logDir, { recursive: true });
}

t.test(`Kafka is killed ${KILLS} times under uploads: every dataset is installed exactly once`, async (t) => {
  await using undo = new Teardowns();
  // What events bring, and nothing else.
  const daemons = { reconciler: { enabled: false } };
  const site = await openSite(undo, { processes: 2, plugin: { importMs: 50, installMs: 50 }, daemons });
  const progress = new Progress(undo, site.at.cache);
  const urls = site.processes.map(({ url }) => url);
  const spreadOver = KILLS * AWAY_MS * 2;
  const uploads = new Uploads({ urls, tokens: site.tokens, count: DATASETS, spreadOver });
  let isOver = false;
  const kills = async (): Promise<void> => {
    for (let kill = 0; kill < KILLS; kill++) {
      await systemClock.sleep(AWAY_MS / 2, signal);
      await site.at.kafka.down();
      await systemClock.sleep(AWAY_MS, signal);
      await site.at.kafka.up();
    }
  };
  const doing = Promise.all([uploads.run(), kills()]).finally(() => {
    isOver = true;
  });
  const finished = await progress.finished(() => isOver, PATIENCE_MS);
  await doing;
  t.ok(finished, `everything comes to an end ${finished ? '' : await progress.jobs()}`);
  t.equal((await progress.counts()).installed, DATASETS);
  await atTheEnd(t, site, uploads);
});

t.test('what Kafka removed unread is found by a run of the reconciler', async (t) => {
  await using undo = new Teardowns();
  // No run that nobody asked for.
  const daemons = { reconciler: { slimRunInterval: '2h', fullRunInterval: '4h' } };
  const site = await openSite(undo, { processes: 1, plugin: { importMs: 0, installMs: 0 }, daemons });
  const [serve] = site.processes;
  if (!serve) throw new Error('no process');
  const said = (message: string): number => readFileSync(serve.log, 'utf8').split(`"msg":"${message}"`).length - 1;
  const joined = 'joined the consumer group of the event log';
  await until(() => said(joined) > 0);
  const admin = await site.at.kafka.admin();
  const progress = new Progress(undo, site.at.cache);
  const ends = async () => {
    const offsets = await admin.fetchTopicOffsets(TOPIC);
    const sum = (which: 'low' | 'high') => offsets.reduce((total, one) => total + Number(one[which]), 0);
    return { low: sum('low'), high: sum('high') };
  };

  const uploads = new Uploads({ urls: [serve.url], tokens: site.tokens, count: LOST, spreadOver: 0 });
  await uploads.run();
  t.ok(await progress.finished(() => true, PATIENCE_MS), 'they are installed');

  // It may write there and not read, when somebody else deletes the datasets in the store.
  const { username } = KAFKA_ACCOUNT;
  const allow = await forbid(site.at.kafka, { username, operation: 'READ', on: 'TOPIC', name: TOPIC });
  await until(() => said('the event log cannot be read; retrying') > 0);
  const owners = await datasets<{ id: string; owner: string }>(site, 'dataset_id as id, owner_id::text as owner');
  for (const { id, owner } of owners)
    await site.at.store.client().putObject(site.at.bucket, `${owner}/${id}/delete-flag`, '');
  await until(async () => (await ends()).high >= LOST);

  const keepFor = (value: string) => {
    const configEntries = [{ name: 'retention.ms', value }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: TOPIC, configEntries }];
    return admin.alterConfigs({ validateOnly: false, resources });
  };
  await keepFor('1');
  await until(async () => {
    const { low, high } = await ends();
    return low === high;
  });
  await keepFor('-1');
  const joins = said(joined);
  await allow();
  await until(() => said(joined) > joins);
  await until(async () => (await partitionsBehind(site.at)).length === 0);
  const states = () => datasets<{ state: string }>(site, 'state');
  t.same(
    (await states()).filter(({ state }) => state !== 'live'),
    [],
    'nobody knows of it',
  );

  const env = { ...process.env, LONGSHORE_ADMIN_TOKEN: site.at.environment(1).LONGSHORE_ADMIN_TOKEN };
  const run = await longshore(['reconcile', '--wait', '--server', serve.url], { env });
  t.match(run, { code: 0, stdout: new RegExp(`reconciled +${LOST}\\n`) });
  await until(async () => (await states()).every(({ state }) => state === 'deleted'));
  await until(async () => (await progress.counts()).jobs === 0);
  t.equal(await serve.stop(), 0, 'stops in good order');
  await rm(site.logDir, { recursive: true });
});

/** Of each dataset in the cache. */
async function datasets<Row extends pg.QueryResultRow>({ at }: Site, columns: string): Promise<readonly Row[]> {
  const client = new pg.Client(at.cache);
  await client.connect();
  try {
    return (await client.query<Row>(`select ${columns} from installer.dataset`)).rows;
  } finally {
    await client.end();
  }
}
