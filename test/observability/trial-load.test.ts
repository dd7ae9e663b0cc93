// Alerts of too much work, on a running program: what makes each fire, and how docs/runbooks.md ends it.

import { Kafka, Partitioners } from 'kafkajs';
import t, { type Test } from 'tap';
import { KafkaCluster } from '../stack/kafka.ts';
import type { Api } from '../support/api.ts';
import { TrialSite } from './trial-site.ts';

const LANES = ['import', 'install', 'updateMeta', 'softDelete'] as const;
/** With four lanes, more than the 64 places that a process has for their tasks. One user gets all but one worker of each. */
const WORKERS = 20;
const FILES = [{ name: 'genes.txt', content: 'PF3D7_0100100\n' }];
const DETAILS = {
  ...{ name: 'Genes', summary: 'Of interest', origin: 'direct-upload', installTargets: ['SiteA'] },
  type: { name: 'genes', version: '1.0' },
};

/** One after the other: a user may send only a few at a time. */
async function uploads(api: Api): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < WORKERS) ids.push(await api.upload(DETAILS, FILES));
  return ids;
}

/** Waits until the lane has so many jobs in the state. */
async function jobs(site: TrialSite, lane: string, state: string, count: number): Promise<void> {
  const { db } = site.seeds;
  await site.prometheus.until(
    async () => {
      const [row] = await db.query<{ n: number }>(
        'select count(*)::integer as n from job where lane = $1 and state = $2',
        [lane, state],
      );
      return row?.n ?? -1;
    },
    (n) => n === count,
    60_000,
  );
}

t.test('LongshoreWorkersBusy', async (t) => {
  const site = await TrialSite.open(t, {
    withTarget: true,
    installer: { lanes: Object.fromEntries(LANES.map((lane) => [lane, { workerCount: WORKERS }])) },
  });
  const { plugin } = site;
  const api = await site.api('12');
  const [edited, deleted] = [await uploads(api), await uploads(api)];
  for (const lane of ['import', 'install']) await jobs(site, lane, 'queued', 0);
  await site.run('pause', 'lane', 'install', '--reason', 'the disks of the site are checked');
  await uploads(api);
  await jobs(site, 'install', 'queued', WORKERS);

  // All four lanes call a plugin that hangs.
  plugin.does = 'hangs';
  for (const id of edited) t.equal(await api.send('PATCH', `/datasets/${id}`, { name: { value: 'Edited' } }), 204);
  // The import lane looks at an edit first, so it must have room.
  await jobs(site, 'updateMeta', 'running', WORKERS - 1);
  for (const id of deleted) t.equal(await api.send('DELETE', `/datasets/${id}`), 204);
  await uploads(api);
  await site.run('resume', 'lane', 'install');
  await site.fires('LongshoreWorkersBusy');
  t.match((await site.follows('LongshoreWorkersBusy', 'top')).stdout, /^softDelete +(19|20)\/20 /m);
  await site.change(({ installer }) => {
    for (const lane of LANES) installer.lanes[lane].workerCount = 10;
  });
  t.match(await site.follows('LongshoreWorkersBusy', 'reload'), { code: 0, stdout: /lanes\.softDelete\.workerCount/ });
  plugin.release();
  await site.resolves('LongshoreWorkersBusy');
  for (const lane of LANES) await jobs(site, lane, 'running', 0);

  // The same again is no longer too much.
  plugin.does = 'hangs';
  await uploads(api);
  t.match((await site.follows('LongshoreWorkersBusy', 'top')).stdout, /^import +\d+\/10 /m);
  plugin.release();
});

const PARTITIONS = 4;
const TOPIC = 'import-triggers';

/** Events of a few datasets, as other processes publish them. */
async function publish(t: Test, cluster: KafkaCluster, perPartition: number): Promise<void> {
  const kafka = new Kafka({ brokers: cluster.addresses.split(','), logLevel: 0 });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  t.teardown(() => producer.disconnect());
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const value = JSON.stringify({ eventID: 1, userID: 12, datasetID: `busy${partition}`, source: 'object-store' });
    const messages = Array(perPartition).fill({ key: 'import-trigger', value, partition });
    await producer.send({ topic: TOPIC, messages });
  }
}

t.test('LongshoreEventLogLag', async (t) => {
  const cluster = await KafkaCluster.start(t);
  await cluster.createTopic(TOPIC, PARTITIONS);
  const [server] = cluster.servers;
  const site = await TrialSite.open(t, {
    installer: { logBroker: { servers: [`${server?.host}:${server?.port}`] }, lanes: {} },
  });
  await publish(t, cluster, 1);
  const lag = async (): Promise<number> =>
    [...(await site.prometheus.query('sum(longshore_event_log_lag{channel="import-triggers"})')).values()][0] ?? -1;
  await site.prometheus.until(lag, (messages) => messages === 0, 120_000);
  // The database stops; others go on publishing.
  site.gate.cut({ at: 1, when: 'before', ends: 'process' });
  await publish(t, cluster, 3_000);
  t.match(await site.fires('LongshoreEventLogLag'), { labels: { channel: TOPIC } });
  t.match(await site.follows('LongshoreEventLogLag', 'doctor'), {
    code: 4,
    stdout: /^FAILED +cache database, access database .*\n +problem: /m,
  });
  site.gate.watch();
  await site.resolves('LongshoreEventLogLag');
  t.match((await site.follows('LongshoreEventLogLag', 'top')).code, 0);
});
