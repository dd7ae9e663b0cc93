// Looks at what needs no server of its own: folders, programs, the machine, plugin servers; and how findings are told.

import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Check, codeOf, networkFix } from '../../../../bin/cli/doctor/check.ts';
import {
  filesProblems,
  folderCheck,
  machineCheck,
  nodeProblems,
  openFilesOf,
  programsCheck,
  roomOf,
} from '../../../../bin/cli/doctor/machine-check.ts';
import { type Diagnosis, isWell, reportJson, reportText, runChecks } from '../../../../bin/cli/doctor/run-checks.ts';
import { keySetCheck, mailCheck, pluginCheck } from '../../../../bin/cli/doctor/server-checks.ts';
import { VERSION } from '../../../../bin/cli/version.ts';
import type { PluginConfiguration } from '../../../../config/configuration.ts';
import type { MailConfiguration } from '../../../../config/schema/root.ts';
import type { SmtpOptions } from '../../../../engine/adapters/mail/smtp.ts';
import { aborted, transient } from '../../../../engine/runtime/failure.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { freePort } from '../../../support/ports.ts';
import { smtpServer } from '../../../support/smtp-server.ts';

const signal = new AbortController().signal;
const dir = t.testdir();

async function look(check: Check): Promise<Diagnosis> {
  const [diagnosis] = await runChecks([check], systemClock, signal);
  if (!diagnosis) throw new Error('a check gives a diagnosis');
  return diagnosis;
}

async function listening(t: Test, server: Server): Promise<number> {
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const folder = (path: string, made: boolean, wantedBytes = 1): Check =>
  folderCheck({ name: 'object store', path, key: 'installer.objectStore.path', made, wantedBytes });

t.test('a folder that is there, that will be made, that is missing, that is none', async (t) => {
  await writeFile(join(dir, 'file'), '');
  t.match(await look(folder(dir, false)), { status: 'ok', where: dir, says: /^\d+\.\d GiB free$/, problems: [] });
  t.match(await look(folder(join(dir, 'a', 'b'), true)), {
    status: 'ok',
    says: /^\d+\.\d GiB free; it will be created$/,
  });
  t.strictSame((await look(folder(join(dir, 'a'), false))).problems, [
    {
      severity: 'fault',
      problem: 'it does not exist (ENOENT)',
      fix: 'create it, or mount its file system, or correct installer.objectStore.path',
    },
  ]);
  t.match(await look(folder(join(dir, 'file', 'below'), true)), { status: 'failed' });
  t.strictSame((await look(folder(join(dir, 'file'), false))).problems, [
    {
      severity: 'fault',
      problem: `${join(dir, 'file')} is not a folder`,
      fix: 'move it away, or correct installer.objectStore.path',
    },
  ]);
});

t.test('a disk that is full, nearly full, or takes no more files', async (t) => {
  const gib = 1024 ** 3;
  const room = (bavail: number, ffree: number, files = 100) =>
    roomOf({ bavail, bsize: 1, ffree, files }, 2 * gib, '').problems.map(({ severity, problem }) => [
      severity,
      problem,
    ]);
  t.strictSame(
    [room(3 * gib, 1), room(gib, 1), room(0, 1), room(3 * gib, 0), room(3 * gib, 0, 0)],
    [
      [],
      [['warning', '1.0 GiB free, less than the 2.0 GiB it may need at once']],
      [['fault', 'its disk is full']],
      [['fault', 'its disk has no free inodes']],
      [],
    ],
  );
});

t.test('programs that are there, that are not, that may not be executed', async (t) => {
  await mkdir(join(dir, 'bin'));
  for (const name of ['good', 'closed']) await writeFile(join(dir, 'bin', name), '#!/bin/sh\n');
  await chmod(join(dir, 'bin', 'good'), 0o755);
  await chmod(join(dir, 'bin', 'closed'), 0o644);
  const programs = ['good', join(dir, 'bin', 'good'), 'closed', 'absent'].map((program, i) => ({
    name: `command ${i}`,
    program,
    key: `handler.commands[${i}].command`,
  }));
  const options = { name: 'handler commands', where: 'this machine', programs, path: `:${dir}/bin` };
  const check = programsCheck(options);
  t.strictSame((await look(check)).problems, [
    {
      severity: 'fault',
      problem: `command 2: ${dir}/bin/closed is not executable for user id ${process.getuid?.()}`,
      fix: `chmod +x ${dir}/bin/closed`,
    },
    {
      severity: 'fault',
      problem: 'command 3: absent does not exist',
      fix: 'install it, or correct handler.commands[3].command',
    },
  ]);
  t.match(await look(programsCheck({ ...options, optional: true })), {
    ...{ status: 'warning', problems: [{ severity: 'warning' }, { severity: 'warning' }] },
  });
});

t.test('the machine: what is read of it, and when it is too little', async (t) => {
  t.match(await look(machineCheck({ wantedFiles: 1 })), { name: 'machine', status: 'ok', says: /^Node\.js \d+\./ });
  t.strictSame(
    [
      'Max open files            1024                 4096                 files',
      'Max open files  unlimited unlimited files',
      '',
    ].map(openFilesOf),
    [1024, undefined, undefined],
  );
  const severity = (limit: number | undefined) => filesProblems(limit, 1_500).map((one) => one.severity);
  t.strictSame([undefined, 512, 1_024, 1_499, 1_500].map(severity), [[], ['fault'], ['warning'], ['warning'], []]);
  t.strictSame(
    ['22.18.0', '24.0.0', '26.1.0'].map((version) => nodeProblems(version).length),
    [1, 0, 0],
  );
});

t.test('a plugin server: none, another kind of server, one that is well, one that is not, one of others', async (t) => {
  let answer: readonly [number, string] = [200, 'hello'];
  let info: readonly [number, string] = [404, ''];
  const server = createServer((request, response) => {
    const [code, text] = request.url === '/service-info' ? info : answer;
    response.writeHead(code).end(text);
  });
  const port = await listening(t, server);
  const of = (at: number) => {
    const plugin = { server: { host: '127.0.0.1', port: at } } as PluginConfiguration;
    return look(pluginCheck('genes', plugin, 'site.yaml'));
  };
  const hangsUp = await listening(
    t,
    createTcpServer((socket) => socket.destroy()),
  );
  t.match((await of(hangsUp)).problems, [{ fix: /^it closes the connection: / }]);
  const closed = await freePort();
  t.strictSame((await of(closed)).problems, [
    {
      severity: 'fault',
      problem: 'the check failed (ECONNREFUSED)',
      fix: 'nothing is listening there: start it (longshore plugin --config site.yaml --id genes), or correct installer.plugins.genes.server; check that the plugin server listens on this address',
    },
  ]);
  for (const strange of [
    answer,
    [404, '{}'],
    [200, '{"status":"healthy"}'],
    [200, '{"status":"healthy","version":"1.2.3","dependencies":{}}'],
    [200, '{"status":"healthy","version":1,"dependencies":[]}'],
    [200, '{"status":"unwell, not healthy","version":"1.2.3","dependencies":[]}'],
    [200, '{"status":"healthy as ever","version":"1.2.3","dependencies":[]}'],
    [200, 'null'],
    [200, '7'],
    [200, `"${'x'.repeat(300_000)}"`],
  ] as const) {
    answer = strange;
    t.match((await of(port)).problems, [
      {
        severity: 'fault',
        problem: `it responds to /health with ${answer[0]}; neither /health nor /service-info responds like a plugin server`,
      },
    ]);
  }
  answer = [404, ''];
  for (const strange of ['null', '[]', '{"manifest":7}', 'hello']) {
    info = [200, strange];
    t.match((await of(port)).problems, [{ severity: 'fault' }], strange);
  }
  info = [200, '{"manifest":{"gitTag":"v7.1.0"}}'];
  t.match(await of(port), {
    status: 'ok',
    says: 'a third-party plugin server, v7.1.0; no further details',
    problems: [],
  });
  const health = (status: string, online: string, message?: string): readonly [number, string] => [
    200,
    JSON.stringify({ status, version: '1.2.3', dependencies: [{ name: 'workspace', online, message }] }),
  ];
  answer = health('healthy', 'yes');
  t.match(await of(port), { where: `127.0.0.1:${port}`, status: 'ok', says: 'version 1.2.3', problems: [] });
  answer = health('unhealthy', 'no', 'it is full');
  t.match(await of(port), {
    status: 'failed',
    problems: [{ problem: 'it reports that it is unhealthy: workspace: it is full' }],
  });
  answer = health('degraded', 'unknown');
  t.match(await of(port), {
    status: 'warning',
    problems: [{ problem: 'it reports that it is degraded: workspace: unknown' }],
  });
});

t.test('what says nothing is given up after ten seconds, beside the others', async (t) => {
  const clock = new VirtualClock();
  const given: AbortSignal[] = [];
  const check = (name: string, look: Check['look']): Check => ({
    ...{ name, where: 'there', tried: 'asked', look },
    explain: () => 'fix it',
  });
  const silent = check('silent', (until) => {
    given.push(until);
    return new Promise(() => undefined);
  });
  const running = runChecks([silent, check('quick', async () => ({ problems: [] }))], clock, signal);
  await clock.advance(10_000);
  const fix = 'it hangs, is overloaded, or a firewall drops packets: try to connect to it from this machine';
  const common = { where: 'there', tried: 'asked' };
  t.strictSame(await running, [
    {
      ...{ name: 'silent', status: 'failed', tookMs: 10_000, ...common },
      problems: [{ severity: 'fault', problem: 'no response within 10 s', fix }],
    },
    { name: 'quick', status: 'ok', tookMs: 0, ...common, problems: [] },
  ]);
  t.ok(given[0]?.aborted);
  const stop = new AbortController();
  const stopped = t.rejects(runChecks([silent], clock, stop.signal), { kind: 'aborted', message: 'stopped by SIGINT' });
  stop.abort(aborted('stopped by SIGINT'));
  await stopped;
});

t.test('codes are found wherever they stand, and each has its fix', async (t) => {
  const coded = (code: string) => Object.assign(new Error('no'), { code });
  t.equal(codeOf(transient('away', { cause: new AggregateError([new Error('a'), coded('ENOTFOUND')]) })), 'ENOTFOUND');
  t.equal(codeOf(Object.assign(coded('ESOCKET'), { errno: -111 })), 'ECONNREFUSED');
  t.equal(codeOf('text'), undefined);
  const place = {
    server: 'Kafka',
    key: 'logBroker.servers',
    tls: { switch: 'logBroker.tls', options: 'logBroker.tlsOptions' },
  };
  const begins = [
    'EHOSTUNREACH',
    'ECONNRESET',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'EPROTO',
  ];
  t.strictSame(
    begins.map((code) => networkFix(coded(code), place)),
    [
      'it cannot be reached: check logBroker.servers, the network and firewalls',
      'it closes the connection: check the log of Kafka; check logBroker.tls, and that the port in logBroker.servers is that of Kafka',
      'its certificate is not trusted: put the PEM file of the authority that signed it into logBroker.tlsOptions.caFile',
      'its certificate is for another name: put a name of the certificate into logBroker.servers',
      'its certificate is not valid now: renew it, or correct the clocks',
      'it does not use TLS on this port: correct logBroker.tls, or the port in logBroker.servers',
    ],
  );
  t.equal(networkFix(coded('28P01'), place), undefined);
});

t.test('findings as lines and as one document', async (t) => {
  const diagnoses: readonly Diagnosis[] = [
    {
      name: 'cache database',
      where: 'db:5432/installer',
      status: 'ok',
      tookMs: 12,
      tried: 'logged in',
      says: 'PostgreSQL 18.4',
      problems: [],
    },
    {
      ...{ name: 'log broker', where: 'kafka:9092', status: 'failed', tookMs: 1_234, tried: 'asked' },
      problems: [{ severity: 'fault', problem: 'it is away', fix: 'start it' }],
    },
  ];
  t.equal(
    reportText(diagnoses),
    [
      'ok       cache database  db:5432/installer    12 ms  logged in: PostgreSQL 18.4',
      'FAILED   log broker      kafka:9092         1234 ms  asked',
      '  problem: it is away',
      '  fix:     start it',
      '2 checked: 1 ok, 0 with a warning, 1 failed',
      '',
    ].join('\n'),
  );
  t.strictSame(JSON.parse(reportJson(diagnoses)), { version: VERSION, ok: false, dependencies: diagnoses });
  t.notOk(isWell(diagnoses));
});

t.test(
  'a mail server: well, away, refusing the login, with a certificate that is not trusted, without TLS',
  async (t) => {
    const plain = await smtpServer(t);
    const tls = await smtpServer(t, 'tls');
    const of = (more: Partial<SmtpOptions>) => {
      const options: SmtpOptions = {
        ...{
          host: '127.0.0.1',
          port: plain.port,
          security: 'none',
          tls: { rejectUnauthorized: true },
          timeoutMs: 5_000,
        },
        ...{ login: undefined, ...more },
      };
      return look(mailCheck({ server: { host: options.host, port: options.port } } as MailConfiguration, options));
    };
    t.match(await of({}), {
      name: 'mail server',
      where: `127.0.0.1:${plain.port}`,
      tried: 'read its greeting',
      status: 'ok',
    });
    plain.answers.set('EHLO', '250-test\r\n250 AUTH PLAIN').set('AUTH', '535 no');
    const refused = await of({ login: { user: 'longshore', pass: 'planted-password' } });
    t.match(refused, { status: 'failed', problems: [{ fix: /^correct mail\.username and password/ }] });
    t.notMatch(JSON.stringify(refused), /planted-password/);
    t.match((await of({ port: await freePort() })).problems, [
      { fix: /^nothing is listening there: start the mail server/ },
    ]);
    t.match((await of({ port: tls.port, security: 'tls' })).problems, [{ fix: /mail\.tlsOptions\.caFile/ }]);
    t.match((await of({ security: 'starttls' })).problems, [{ fix: /correct mail\.security/ }]);
  },
);

t.test('the key set of the issuer', async (t) => {
  let body = JSON.stringify({ keys: [{}, {}] });
  const server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/keys' }).end();
    else response.writeHead(request.url === '/keys' ? 200 : 404).end(body);
  });
  const port = await listening(t, server);
  const of = (path: string) => look(keySetCheck(`http://127.0.0.1:${port}/${path}`));
  t.match(await of('keys'), { where: `127.0.0.1:${port}`, status: 'ok', says: '2 keys' });
  t.match(await of('moved'), { status: 'ok', says: '2 keys' });
  t.match((await of('others')).problems, [{ problem: 'it responds with 404 and no key set' }]);
  body = '{"keys":[]}';
  t.match((await of('keys')).problems, [{ problem: 'its key set is empty' }]);
});
