// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of the configuration look like that

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';
import { FIXTURES, SECRETS } from './complete-document.ts';

const dir = t.testdir();

async function faultsOf(content: string | Buffer, env: Record<string, string> = {}): Promise<readonly string[]> {
  const file = join(dir, 'faulty.yaml');
  await writeFile(file, content);
  const result = await loadConfiguration(file, { env });
  return result.ok ? [] : result.faults.map((fault) => formatFault({ ...fault, file: 'F' }));
}

t.test('the contract form loads', async (t) => {
  const result = await loadConfiguration(join(FIXTURES, 'contract-form.yaml'), { env: SECRETS });
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  const { installer, handler, containerCore, mail } = result.configuration;
  t.same(result.warnings, []);
  t.same(containerCore.http.enableCors, ['https://alpha.example.org', 'https://beta.example.org:8443']);
  t.equal(containerCore.ports.handler, 8181, 'the port of the handler options');
  t.equal(handler?.bindHost, '0.0.0.0', 'a handler with a token listens where the others do');
  t.match(handler, { vendor: { name: 'example' } });
  t.equal(mail?.password, SECRETS.SMTP_PASSWORD);
  t.equal(installer.daemons.pruner.retentionWindowMs, 14 * 86_400_000);
  t.same(installer.ldap?.servers, [
    { host: 'ldap-1.example.org', port: 389 },
    { host: 'ldap-2.example.org', port: 1389 },
  ]);
  t.same(installer.plugins.genelist?.dataTypes, [
    {
      name: 'genelist',
      version: '1.0',
      category: 'Gene List',
      typeChangesEnabled: false,
      maxFileSize: 1_048_576,
      allowedFileExtensions: ['.txt', '.csv'],
      usesDataProperties: false,
      projectIds: ['AlphaDB', 'BetaDB'],
    },
  ]);
  t.equal(installer.plugins.genelist?.scripts.dataInstall.maxDurationMs, 9_000_000);
  t.equal(installer.plugins.rnaseq?.dataTypes[0]?.maxFileSize, 2_147_483_648, 'the largest upload');
  const access = { poolSize: 5, idleTimeoutMs: 600_000, tls: false, tlsOptions: { verify: true } };
  const direct = {
    ...access,
    kind: 'direct',
    server: { host: 'sites.example.org', port: 5433 },
    name: 'sites',
    platform: 'Postgres',
    username: 'site_user',
    password: SECRETS.SITE_DB_PASSWORD,
    schema: 'site_user',
  };
  t.strictSame(installer.installTargets as unknown, [
    {
      targetId: 'AlphaDB',
      targetName: 'Alpha',
      dataTypes: 'any',
      metaValidation: { type: 'object', required: ['shortAttribution'] },
      projectCategory: 'genomics',
      controlDb: { ...direct, schema: 'alpha_control' },
      dataDb: direct,
    },
    {
      targetId: 'BetaDB',
      targetName: 'BetaDB',
      datasetFileRoot: 'legacy/beta',
      dataTypes: [{ name: 'genelist', version: '1.0' }],
      projectCategory: 'other',
      controlDb: {
        ...access,
        kind: 'lookup',
        lookupCn: 'betadb',
        username: 'beta_user',
        password: SECRETS.SITE_DB_PASSWORD,
        poolSize: 32,
        schema: 'beta_user',
      },
      dataDb: direct,
    },
  ]);
});

t.test('the embedded form loads, relative paths start at the file', async (t) => {
  const result = await loadConfiguration(join(FIXTURES, 'embedded-form.yaml'), { env: {} });
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  const { installer, containerCore } = result.configuration;
  t.same(installer.cacheDb.server, { host: '127.0.0.1', port: 54_321 }, 'from ${file:..}, as a number');
  t.same(installer.objectStore, { driver: 'directory', path: join(FIXTURES, 'objects') });
  t.same(installer.logBroker, { driver: 'postgres' });
  t.same(installer.queueBroker, { driver: 'postgres' });
  t.equal(containerCore.authentication?.oauth?.publicKeyFile, join(FIXTURES, 'token-key.pub.pem'));
  const { genelist } = installer.plugins;
  t.equal(genelist?.token, 'plugin-host-token', "the plugin host's token is the plugins' too");
  t.equal(genelist?.installRoot, join(FIXTURES, 'install root'));
  t.equal(genelist?.scripts.dataCleaning.pathOverride, join(FIXTURES, 'scripts/import'));
  const { report } = result.configuration;
  t.equal(report?.queryJobs.root, join(FIXTURES, 'query jobs'));
  t.equal(report?.blastDb, `${join(FIXTURES, 'databases')}:/opt/blast`, 'each directory of a search path');
});

const FAULTY = `
containerCore:
  authentication:
    adminToken: short
    oauth: { issuer: x, jwksUrl: ftp://x, publicKeyFile: y }
  htpp: {}
installer:
  cacheDb: postgres://user:hunter22@host/db
  restService: { maxUploadSize: 5, userMaxStorageSize: 1e9 }
  logBroker: { driver: kafak, servers: [] }
  lanes:
    import: { wrokerCount: 4, workerCount: 21 }
    install: { eventChannel: import-triggers, eventKey: import-trigger, brokerProducerId: abc }
  objectStore: { driver: directory }
  plugins:
    p:
      server: { host: a_b, port: 70000 }
      dataTypes:
        - { name: ab, version: -1, category: abc, allowedFileExtensions: [txt, .zip], projectIds: [Nope1] }
        - { name: abc, version: 1, category: abc }
  queueBroker: 5
  siteBuild: a/b
  installTargets:
    - targetId: AlphaDB
      dataTypes: ['*', x]
      controlDb: { lookupCn: abc, server: x, username: abc, password: 12345678 }
      dataDb: { server: x, name: y, username: a-b, password: "\${env:NOPE}", platform: Oracle }
    - { targetName: AlphaDB }
  daemons: { pruner: { retentionWindow: 5, pruneInterval: 0s, wakeInterval: 1m 1h } }
mail: { server: smtp, from: nobody, username: u }
surprise: 1
`;

t.test('all faults are reported at once, each with place, path, what was found and what is allowed', async (t) => {
  const duration = "a duration with units in descending order, such as '90s', '1h 30m', '5 minutes' or 'PT1H30M'";
  const units = '(bytes, or with a unit such as 512MB or 10GiB)';
  const schema = 'a schema name: letters, digits and _, no digit first, 3..63 characters';
  const lane = 'brokerConsumerId, inMemoryQueueSize, workerCount, eventChannel, eventKey, retry';
  t.same(await faultsOf(FAULTY), [
    'F:4:17: containerCore.authentication.adminToken: found 5 characters [hidden]; allowed: text of at least 32 characters',
    'F:5:5: containerCore.authentication.oauth: found the keys issuer, jwksUrl, publicKeyFile; allowed: exactly one of `jwksUrl` and `publicKeyFile`',
    'F:5:5: containerCore.authentication.oauth.audience: found nothing; allowed: the audience that "x" writes into tokens for this service',
    'F:5:34: containerCore.authentication.oauth.jwksUrl: found "ftp://x"; allowed: an http(s) URL without user name and password',
    "F:6:3: containerCore.htpp: found an unknown key (did you mean 'http'?); allowed: authentication, console, http, ports, startupWait, disk, shutdownGrace, audit, history, log",
    'F:8:12: installer.cacheDb: found text; allowed: a map with the keys server*, username*, password*, name, poolSize, tls, tlsOptions',
    `F:9:33: installer.restService.maxUploadSize: found 5; allowed: a size of at least 1048576 ${units}`,
    `F:9:56: installer.restService.userMaxStorageSize: found 1e9; allowed: a size of at least 1073741824 ${units}`,
    'F:10:24: installer.logBroker.driver: found "kafak"; allowed: one of kafka, postgres',
    `F:12:15: installer.lanes.import.wrokerCount: found an unknown key (did you mean 'workerCount'?); allowed: ${lane}`,
    'F:12:44: installer.lanes.import.workerCount: found 21; allowed: a whole number 1..20: the workers of one process share its connections to the database, of which there are at most 32; for more workers, start another process',
    'F:13:14: installer.lanes.install: found channel import-triggers with key import-trigger, as at installer.lanes.import; allowed: a channel or a key of its own per lane',
    `F:13:73: installer.lanes.install.brokerProducerId: found an unknown key; allowed: ${lane}`,
    'F:14:3: installer.objectStore.path: found nothing; allowed: a path (required)',
    'F:17:23: installer.plugins.p.server.host: found "a_b"; allowed: a host name (letters, digits, dots, dashes; labels up to 63, 253 in all) or an IP address, IPv6 in brackets',
    'F:17:34: installer.plugins.p.server.port: found 70000; allowed: a whole number 1..65535',
    'F:19:19: installer.plugins.p.dataTypes[0].name: found "ab"; allowed: text of at least 3 characters',
    'F:19:32: installer.plugins.p.dataTypes[0].version: found -1; allowed: a version: text of at least 1 character, or a number of at least 0',
    `F:19:75: installer.plugins.p.dataTypes[0].allowedFileExtensions[0]: found "txt"; allowed: text that starts with a dot and goes on, such as '.txt'`,
    'F:19:80: installer.plugins.p.dataTypes[0].allowedFileExtensions[1]: found ".zip", an archive; allowed: extensions of single files; .zip, .tar.gz, .tgz are always accepted',
    'F:19:100: installer.plugins.p.dataTypes[0].projectIds[0]: found "Nope1", which is no install target; allowed: one of AlphaDB',
    'F:21:16: installer.queueBroker: found a number; allowed: a map; `driver` is one of rabbitmq, postgres',
    'F:22:14: installer.siteBuild: found "a/b"; allowed: one directory name, without \'/\'',
    'F:25:19: installer.installTargets[0].dataTypes[0]: found text; allowed: {name, version}; or the list is exactly ["*"]',
    'F:25:24: installer.installTargets[0].dataTypes[1]: found text; allowed: {name, version}; or the list is exactly ["*"]',
    'F:26:7: installer.installTargets[0].controlDb: found the keys lookupCn, server, username, password; allowed: exactly one connection form: `lookupCn`, or `server`, `name` and `platform`',
    'F:26:30: installer.installTargets[0].controlDb.lookupCn: found a directory lookup without `installer.ldap`; allowed: a lookup with `installer.ldap`, or `server`, `name` and `platform`',
    'F:26:71: installer.installTargets[0].controlDb.password: found a number [hidden]; allowed: text of at least 8 characters',
    `F:27:7: installer.installTargets[0].dataDb.schema: found nothing, and the username, which is the default, is not a valid schema name; allowed: ${schema}`,
    'F:27:62: installer.installTargets[0].dataDb.password: found ${env:NOPE}, and NOPE is not set; allowed: a variable that is set, or ${env:NOPE:-default}',
    'F:27:87: installer.installTargets[0].dataDb.platform: found "Oracle", which is not supported for now; allowed: Postgres or MariaDB',
    'F:28:7: installer.installTargets[1].targetId: found nothing; allowed: an install target id: 5..32 letters, digits, - and _ (required)',
    ...['controlDb', 'dataDb'].map(
      (key) =>
        `F:28:7: installer.installTargets[1].${key}: found nothing; allowed: a map with the keys username*, password*, poolSize, schema, idleTimeout, lookupCn, server, name, platform, tls, tlsOptions (required)`,
    ),
    'F:28:21: installer.installTargets[1].targetName: found "AlphaDB", as at installer.installTargets[0].targetId; allowed: a name of its own per target',
    `F:29:41: installer.daemons.pruner.retentionWindow: found 5; allowed: ${duration}`,
    `F:29:59: installer.daemons.pruner.pruneInterval: found "0s"; allowed: ${duration}; longer than 0`,
    `F:29:77: installer.daemons.pruner.wakeInterval: found "1m 1h"; allowed: ${duration}`,
    'F:30:1: mail.password: found nothing; allowed: text of at least 1 character (required)',
    'F:30:29: mail.from: found "nobody"; allowed: an e-mail address',
    'F:31:1: surprise: found an unknown key; allowed: $schema, definitions, containerCore*, installer*, pluginHost, handler, report, access, mail',
  ]);
});

t.test('a file that is no YAML map', async (t) => {
  t.same(await faultsOf(''), ['F:1:1: found nothing (null); allowed: a map']);
  t.same(await faultsOf('- 1\n- 2\n'), ['F:1:1: found a list of 2; allowed: a map']);
  t.same(await faultsOf('hunter22'), ['F:1:1: found text; allowed: a map']);
  t.same(await faultsOf('a: [1\nb: 2'), ['F:1:4: found a [ that is not closed; allowed: its closing bracket']);
  t.match(await faultsOf('containerCore: {}\ninstaller: {}\ndefinitions: 5\n'), {
    7: 'F:3:14: definitions: found a number; allowed: a map',
  });
});

t.test('a file that cannot be read', async (t) => {
  t.same(await faultsOf(Buffer.from([0x61, 0x3a, 0x20, 0xff])), [
    'F:1:1: found bytes that are not UTF-8; allowed: UTF-8 text',
  ]);
  t.same(await faultsOf(`# ${'x'.repeat(1_048_576)}`), [
    'F:1:1: found more than 1048576 bytes; allowed: at most 1048576 bytes',
  ]);
  for (const [file, found] of [
    [join(dir, 'none.yaml'), 'a file that does not exist'],
    [dir, 'a file that is a folder'],
  ] as const) {
    const fault = {
      file,
      line: 1,
      column: 1,
      path: '',
      found,
      allowed: 'a readable YAML file',
    };
    t.same(await loadConfiguration(file, { env: {} }), { ok: false, faults: [fault] });
  }
});

t.test('duplicate keys and tags are reported beside the faults of the schema', async (t) => {
  const faults = await faultsOf('containerCore: {}\ninstaller: 5\ncontainerCore: !custom {}\n');
  t.same(
    faults.map((fault) => fault.split(';')[0]),
    ['F:2:12: installer: found a number', 'F:3:1: containerCore: found the key a second time'],
  );
});

t.test('a value behind a placeholder is told by its placeholder', async (t) => {
  const faults = await faultsOf(
    'containerCore: { ports: { report: "${env:REPORT_PORT:-none}" }, log: { level: "${env:LEVEL}" } }\ninstaller: 1\n',
    {
      LEVEL: 'hunter22',
    },
  );
  t.same(faults, [
    'F:1:35: containerCore.ports.report: found the value of ${env:REPORT_PORT} [hidden]; allowed: a whole number 1..65535',
    'F:1:79: containerCore.log.level: found the value of ${env:LEVEL} [hidden]; allowed: one of trace, debug, info, warn, error, silent',
    ...faults.slice(2),
  ]);
});

t.test('a size with a unit and a duration in any spelling load as bytes and milliseconds', async (t) => {
  const text = await readFile(join(FIXTURES, 'contract-form.yaml'), 'utf8');
  const file = join(dir, 'units.yaml');
  const document = parse(text);
  document.installer.restService = {
    maxUploadSize: '512 MiB',
    userMaxStorageSize: '${env:QUOTA}',
    archives: { maxDuration: 'PT1H30M' },
  };
  document.installer.daemons = { pruner: { pruneInterval: '1h30m', retentionWindow: '2 weeks' } };
  await writeFile(file, stringify(document));
  const result = await loadConfiguration(file, { env: { ...SECRETS, QUOTA: '20GB' } });
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  const { restService, daemons } = result.configuration.installer;
  t.equal(restService.maxUploadSize, 536_870_912);
  t.equal(restService.userMaxStorageSize, 20_000_000_000);
  t.equal(restService.archives.maxDurationMs, 5_400_000);
  t.match(daemons.pruner, { pruneIntervalMs: 5_400_000, retentionWindowMs: 14 * 86_400_000 });
  document.installer.restService = { maxUploadSize: '512KB', userMaxStorageSize: '10 gigabytes' };
  const faults = await faultsOf(stringify(document), SECRETS);
  t.match(
    faults.filter((fault) => fault.includes('restService')),
    [
      /found 512KB; allowed: a size of at least 1048576 \(/,
      /found "10 gigabytes"; allowed: a size of at least 1073741824 \(/,
    ],
  );
});

t.test('a command reads its sections only', async (t) => {
  const file = join(FIXTURES, 'contract-form.yaml');
  const sections = ['installer.plugins', 'installer.siteBuild', 'pluginHost'] as const;
  const result = await loadConfiguration(file, { env: {}, sections });
  if (!result.ok) throw new Error(result.faults.map(formatFault).join('\n'));
  const { installer, pluginHost } = result.configuration;
  t.equal(installer.siteBuild, 'build-68');
  t.equal(installer.plugins.rnaseq?.dataTypes[0]?.maxFileSize, 2_147_483_648);
  t.equal(pluginHost, undefined);
  t.notOk('cacheDb' in installer);
  t.notOk('handler' in result.configuration);
});

t.test('a command is told of the faults of its sections only, and of unknown keys', async (t) => {
  const file = join(dir, 'partial.yaml');
  await writeFile(file, 'containerCore: 5\ninstaller: { siteBuild: "", cacheDb: "${env:NOPE}", sitebuild: x }\n');
  const result = await loadConfiguration(file, { env: {}, sections: ['installer.siteBuild'] });
  t.same(result.ok ? [] : result.faults.map(({ path, found }) => `${path}: ${found}`), [
    'installer.siteBuild: ""',
    "installer.sitebuild: an unknown key (did you mean 'siteBuild'?)",
  ]);
});

t.test('a duration is read where its section is named as the program has it', async (t) => {
  const file = join(dir, 'durations.yaml');
  await writeFile(file, 'containerCore: { shutdownGrace: 45s, startupWait: 10s }\n');
  const result = await loadConfiguration(file, { env: {}, sections: ['containerCore.shutdownGraceMs'] });
  t.strictSame(result.ok && result.configuration, { containerCore: { shutdownGraceMs: 45_000 } });
});
