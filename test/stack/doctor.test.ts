// What `doctor` finds on the real servers: as configured, and each thing that is commonly wrong there. It leaves them as
// they were.

import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Channel, connect } from 'amqplib';
import t from 'tap';
import { kafkaCheck, rabbitCheck } from '../../bin/cli/doctor/broker-checks.ts';
import type { Check } from '../../bin/cli/doctor/check.ts';
import { databaseCheck } from '../../bin/cli/doctor/database-check.ts';
import { objectStoreCheck } from '../../bin/cli/doctor/object-store-check.ts';
import { type Diagnosis, runChecks } from '../../bin/cli/doctor/run-checks.ts';
import { directoryCheck, explainEntry } from '../../bin/cli/doctor/server-checks.ts';
import type { Configuration } from '../../config/configuration.ts';
import { LdapDirectory } from '../../engine/adapters/ldap/ldap-directory.ts';
import type { RabbitOptions } from '../../engine/adapters/rabbit/rabbit-session.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { KafkaCluster } from './kafka.ts';
import { forbid, THE_CLUSTER } from './kafka-permissions.ts';
import { kafkaSettings } from './kafka-settings.ts';
import { startRabbitMq } from './rabbitmq.ts';
import { startRadosgw } from './radosgw.ts';
import { BASE_DN, READER, startSlapd } from './slapd.ts';

const signal = new AbortController().signal;
const dirOf = (name: string): Promise<string> => mkdtemp(join(tmpdir(), `longshore-doctor-${name}-`));
const rabbitmq = await startRabbitMq(await dirOf('rabbitmq'));
t.teardown(() => rabbitmq[Symbol.asyncDispose]());

async function look(check: Check): Promise<Pick<Diagnosis, 'status' | 'says' | 'problems' | 'where'>> {
  const [diagnosis] = await runChecks([check], systemClock, signal);
  if (!diagnosis) throw new Error('a check gives a diagnosis');
  const { status, where, says, problems } = diagnosis;
  return { status, where, ...(says === undefined ? {} : { says }), problems };
}

const named = { durable: true, autoDelete: false, arguments: {} };
const broker: RabbitOptions = {
  ...{ name: 'doctor', host: '127.0.0.1', port: rabbitmq.port, username: 'guest', password: 'guest' },
  timeoutMs: 10_000,
  exchange: { ...named, name: 'changes-exchange', type: 'topic' },
  queue: { ...named, name: 'changes-queue', exclusive: false },
  routing: { key: '#', arguments: {} },
};

async function withChannel(work: (channel: Channel) => Promise<unknown>): Promise<void> {
  const model = await connect(`amqp://127.0.0.1:${rabbitmq.port}`);
  try {
    await work(await model.createChannel());
  } finally {
    await model.close();
  }
}

t.test('RabbitMQ: nothing declared, as configured, with other settings, refused', async (t) => {
  const where = `127.0.0.1:${rabbitmq.port}`;
  const nothing = 'created at the first start: exchange changes-exchange, queue changes-queue';
  for (let times = 0; times < 2; times++)
    t.strictSame(await look(rabbitCheck(broker, systemClock)), { status: 'ok', where, says: nothing, problems: [] });
  await withChannel(async (channel) => {
    await channel.assertExchange('changes-exchange', 'topic', { durable: true });
    await channel.assertQueue('changes-queue', { durable: true });
    channel.sendToQueue('changes-queue', Buffer.from('{}'));
    await channel.checkQueue('changes-queue');
  });
  t.match(await look(rabbitCheck(broker, systemClock)), { status: 'ok', says: '1 messages waiting', problems: [] });
  const other: RabbitOptions = {
    ...broker,
    exchange: { ...broker.exchange, type: 'fanout' },
    queue: { ...broker.queue, arguments: { 'x-queue-type': 'quorum' } },
  };
  t.strictSame((await look(rabbitCheck(other, systemClock))).problems, [
    {
      severity: 'fault',
      problem: 'exchange changes-exchange exists with different settings',
      fix: 'change installer.queueBroker.global.exchange to match the broker, or delete it there so that it is created again',
    },
    {
      severity: 'fault',
      problem: 'queue changes-queue exists with different settings',
      fix: 'change installer.queueBroker.global.queue to match the broker, or delete it there so that it is created again',
    },
  ]);
  const stranger = await look(rabbitCheck({ ...broker, password: 'planted-password' }, systemClock));
  t.match(stranger, {
    status: 'failed',
    problems: [
      { problem: /ACCESS_REFUSED/, fix: /^correct installer\.queueBroker\.global\.connection\.username and password/ },
    ],
  });
  t.notMatch(JSON.stringify(stranger), /planted-password/);
  const untrusted = { ...broker, port: rabbitmq.tlsPort, tls: { rejectUnauthorized: true } };
  t.match((await look(rabbitCheck(untrusted, systemClock))).problems, [
    { fix: /authority that signed it into installer\.queueBroker\.global\.connection\.tlsOptions\.caFile$/ },
  ]);
});

t.test(
  'slapd: well, an entry that is missing, one that is there twice, a certificate that is not trusted',
  async (t) => {
    await using slapd = await startSlapd(await dirOf('slapd'));
    const server = { host: '127.0.0.1', port: slapd.port };
    const section = { servers: [server], baseDn: BASE_DN, tls: false, tlsOptions: { verify: true } };
    const directory = new LdapDirectory({ servers: [server], baseDn: BASE_DN });
    t.match(await look(directoryCheck(section, directory)), { status: 'ok', where: `127.0.0.1:${slapd.port}` });
    const use = { name: 'target SiteA data', schema: 'rows', key: 'installer.installTargets[0].dataDb' };
    const lookedUp = databaseCheck(
      {
        uses: [use],
        where: 'cn=genes',
        lookupCn: 'genes',
        locate: async (until) => {
          const at = await directory.find('genes', until);
          const role = { user: 'dataset', password: 'password', schema: 'rows', applicationName: 'doctor' };
          return { ...at, ...role, poolSize: 1, idleTimeoutMs: 1_000 };
        },
        explainLocate: explainEntry(section),
      },
      systemClock,
    );
    const fix = /^below cn=databases,dc=example,dc=test there must be exactly one entry of this cn/;
    t.match((await look(lookedUp)).problems, [{ problem: /cn=genes .*: no such entry$/, fix }]);
    const classes = ['PostgresServiceContext'];
    // Port 9 of this machine: there is no database.
    const attributes = { pgConnectionParam: ['host=127.0.0.1', 'port=9', 'dbname=genes'] };
    slapd.put({ cn: 'genes', classes, attributes });
    t.match(await look(lookedUp), {
      problems: [
        {
          problem: /database genes at 127\.0\.0\.1:9: .*ECONNREFUSED/,
          fix: /^nothing is listening there: start PostgreSQL, or correct the directory entry cn=genes; /,
        },
      ],
    });
    slapd.put({ cn: 'other', classes: ['applicationProcess'], attributes: {} });
    slapd.put({ cn: 'genes', classes, attributes, below: 'cn=other' });
    t.match((await look(lookedUp)).problems, [{ problem: /found 2 entries, expected exactly one$/, fix }]);
    const elsewhere = new LdapDirectory({ servers: [server], baseDn: 'dc=nowhere' });
    await t.rejects(elsewhere.find('genes', signal));
    t.equal(
      explainEntry({ ...section, baseDn: 'dc=nowhere' })(await elsewhere.find('genes', signal).catch((error) => error)),
      'correct installer.ldap.baseDn, let anonymous clients read below it, or set installer.ldap.bindDn and bindPassword',
    );
    const refused = { ...section, bindDn: READER.dn, bindPassword: 'planted-wrong' };
    const stranger = new LdapDirectory({
      servers: [server],
      baseDn: BASE_DN,
      login: { dn: READER.dn, password: 'planted-wrong' },
    });
    const told = await look(directoryCheck(refused, stranger));
    t.match(told.problems, [
      {
        problem: /refuses the login as cn=reader,dc=example,dc=test: wrong name or password$/,
        fix: /^correct installer\.ldap\.bindDn and installer\.ldap\.bindPassword/,
      },
    ]);
    t.notMatch(JSON.stringify(told), /planted/);
    const secure = { servers: [{ host: '127.0.0.1', port: slapd.tlsPort }], baseDn: BASE_DN };
    const distrusting = new LdapDirectory({ ...secure, tls: { rejectUnauthorized: true } });
    t.match((await look(directoryCheck({ ...section, ...secure }, distrusting))).problems, [
      { fix: /authority that signed it into installer\.ldap\.tlsOptions\.caFile$/ },
    ]);
  },
);

t.test('Kafka: topics that are there, that we make, and that we may not make; the login', async (t) => {
  const sasl = { mechanism: 'SCRAM-SHA-512', username: 'longshore', password: 'planted-word' } as const;
  const topics = { 'import-triggers': 3, 'install-triggers': 2 };
  const cluster = await KafkaCluster.start(t, { topics, secure: { accounts: [sasl] } });
  const { login: servers, caFile } = cluster.secured;
  const tls = { ca: readFileSync(caFile, 'utf8'), rejectUnauthorized: true };
  const settings = kafkaSettings({ servers, tls, sasl });
  t.match(await look(kafkaCheck(settings, ['import-triggers', 'install-triggers'], systemClock)), {
    status: 'ok',
    says: 'partitions: import-triggers 3, install-triggers 2',
    problems: [],
  });
  const wanted = ['import-triggers', 'share-triggers'];
  t.match(await look(kafkaCheck(settings, wanted, systemClock)), {
    status: 'ok',
    says: 'partitions: import-triggers 3; created at the first start: share-triggers',
    problems: [],
  });
  const { username } = sasl;
  await forbid(cluster, { username, operation: 'CREATE', on: 'CLUSTER', name: THE_CLUSTER });
  await forbid(cluster, { username, operation: 'CREATE', on: 'TOPIC', name: 'share-triggers' });
  const { problems } = await look(kafkaCheck(settings, wanted, systemClock));
  t.match(problems, [
    {
      problem: /^topics are missing and this client may not create them \(.+\): share-triggers$/,
      fix: /kafka-topics\.sh --bootstrap-server \S+ --create --topic share-triggers --partitions 6$/,
    },
  ]);
  const [, advice = ''] = /--bootstrap-server \S+ (.*)$/.exec(problems[0]?.fix ?? '') ?? [];
  await cluster.tool('org.apache.kafka.tools.TopicCommand', advice.split(' '));
  t.match(await look(kafkaCheck(settings, wanted, systemClock)), {
    says: 'partitions: import-triggers 3, share-triggers 6',
  });

  const refused = await look(
    kafkaCheck({ ...settings, sasl: { ...sasl, password: 'planted-wrong' } }, wanted, systemClock),
  );
  t.match(refused, {
    status: 'failed',
    problems: [
      { problem: /^Kafka \(.+\) refuses the login: /, fix: /^correct installer\.logBroker\.sasl: mechanism, username/ },
    ],
  });
  t.notMatch(JSON.stringify(refused), /planted/);
  t.match((await look(kafkaCheck({ ...settings, tls: { rejectUnauthorized: true } }, wanted, systemClock))).problems, [
    { fix: /authority that signed it into installer\.logBroker\.tlsOptions\.caFile$/ },
  ]);
});

t.test('radosgw: bucket, secret, notifications', async (t) => {
  const radosgw = await startRadosgw(t);
  const bucketName = await radosgw.makeBucket();
  type Installer = Configuration['installer'];
  const restService = { maxUploadSize: 1 } as Installer['restService'];
  const of = (more: object) =>
    look(
      objectStoreCheck({
        restService,
        objectStore: {
          ...{ driver: 's3', bucketName, server: { host: radosgw.host, port: radosgw.port }, https: false },
          ...{
            tlsOptions: { verify: true },
            accessToken: radosgw.accessKey,
            secretKey: radosgw.secretKey,
            pathStyle: true,
          },
          ...more,
        },
      }),
    );
  t.strictSame((await of({})).problems, [
    {
      severity: 'fault',
      problem: 'the bucket sends no notifications for ObjectCreated and ObjectRemoved',
      fix: 'add a notification for s3:ObjectCreated:* and s3:ObjectRemoved:* to the exchange of installer.queueBroker',
    },
  ]);
  await withChannel((channel) => channel.assertExchange('notified', 'topic', { durable: true }));
  await radosgw.notifyAmqp(bucketName, { amqpPort: rabbitmq.port, exchange: 'notified', topic: 'changes' });
  t.match(await of({}), { status: 'ok', says: 'notifies arn:aws:sns:default::changes', problems: [] });
  t.match((await of({ bucketName: 'missing-bucket' })).problems, [
    { problem: /NoSuchBucket/, fix: /^create the bucket \(aws s3 mb s3:\/\/missing-bucket, / },
  ]);
  const wrong = await of({ secretKey: 'planted-secret' });
  t.match(wrong.problems, [
    { problem: /SignatureDoesNotMatch/, fix: /^correct installer\.objectStore\.accessToken and secretKey/ },
  ]);
  t.notMatch(JSON.stringify(wrong), /planted-secret/);
  t.match((await of({ https: true, server: { host: radosgw.host, port: radosgw.tlsPort } })).problems, [
    { fix: /authority that signed it into installer\.objectStore\.tlsOptions\.caFile$/ },
  ]);
  t.match((await of({ https: true })).problems, [
    { fix: /^it does not use TLS on this port: correct installer\.objectStore\.https/ },
  ]);
});
