// The directory on a real LDAP server: what entries say, what is wrong with others, servers that are away.

import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { checksOf } from '../../bin/cli/doctor/checks.ts';
import { type Diagnosis, runChecks } from '../../bin/cli/doctor/run-checks.ts';
import { init } from '../../bin/commands/config.ts';
import { loadConfiguration } from '../../config/load.ts';
import { formatFault } from '../../config/validate.ts';
import { LdapDirectory, type LdapOptions, refusalOf } from '../../engine/adapters/ldap/ldap-directory.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { freePort } from '../support/ports.ts';
import { run } from '../support/run-command.ts';
import { BASE_DN, type DirectoryEntry, READER, startSlapd } from './slapd.ts';

const signal = new AbortController().signal;
const server = await startSlapd(await mkdtemp(join(tmpdir(), 'longshore-slapd-')));
t.teardown(() => server[Symbol.asyncDispose]());
const here = { host: '127.0.0.1', port: server.port };
const directory = (more: Partial<LdapOptions> = {}): LdapDirectory =>
  new LdapDirectory({ servers: [here], baseDn: BASE_DN, ...more });

const context = (cn: string, ...parameters: readonly string[]): DirectoryEntry => ({
  cn,
  classes: ['PostgresServiceContext'],
  attributes: { pgConnectionParam: parameters },
});
const labeled = (cn: string, uri: string): DirectoryEntry => ({
  cn,
  classes: ['applicationProcess', 'labeledURIObject'],
  attributes: { labeledURI: [uri] },
});

t.test('an entry says where its database is', async (t) => {
  server.put(context('by-parameters', 'host=db.example.test', 'port=5433', 'dbname=genes'));
  server.put(context('usual-port', 'dbname = genes', 'HOST = 10.0.0.7', 'sslmode=require'));
  server.put(labeled('by-uri', 'postgresql://db.example.test:6543/more%20genes The genes'));
  server.put(labeled('short-uri', 'postgres://[::1]/genes'));
  server.put({ ...labeled('deeper', 'postgresql://deep/genes'), below: 'cn=by-uri' });
  for (const [name, found] of Object.entries({
    'by-parameters': { host: 'db.example.test', port: 5433, database: 'genes' },
    'BY-Parameters': { host: 'db.example.test', port: 5433, database: 'genes' },
    'usual-port': { host: '10.0.0.7', port: 5432, database: 'genes' },
    'by-uri': { host: 'db.example.test', port: 6543, database: 'more genes' },
    'short-uri': { host: '::1', port: 5432, database: 'genes' },
    deeper: { host: 'deep', port: 5432, database: 'genes' },
  }))
    t.same(await directory().find(name, signal), found, name);
});

t.test('an entry that names no database is refused, and what is wrong with it is said', async (t) => {
  server.put(context('no-host', 'dbname=genes'));
  server.put(context('no-name', 'host=a'));
  server.put(context('odd-port', 'host=a', 'dbname=b', 'port=0'));
  server.put(labeled('other-uri', 'https://example.test/genes'));
  server.put(labeled('bare-uri', 'postgresql://example.test'));
  server.put({ cn: 'oracle', classes: ['orclNetService'], attributes: { orclNetDescString: ['(HOST=a)'] } });
  server.put({ cn: 'nothing', classes: ['applicationProcess'], attributes: {} });
  server.put(labeled('twice', 'postgresql://a/b'));
  server.put({ ...labeled('twice', 'postgresql://a/c'), below: 'cn=twice' });
  for (const [name, fault] of Object.entries({
    'no-host': 'its pgConnectionParam names no host',
    'no-name': 'its pgConnectionParam names no dbname',
    'odd-port': "its port '0' is not from 1 to 65535",
    'other-uri': "its labeledURI 'https://example.test/genes' is not of the form postgresql://host:port/name",
    'bare-uri': "its labeledURI 'postgresql://example.test' is not of the form postgresql://host:port/name",
    oracle: 'it is an Oracle service; only PostgreSQL is supported',
    nothing: 'it is not a PostgresServiceContext and has no labeledURI',
  }))
    await t.rejects(directory().find(name, signal), {
      kind: 'transient',
      unreachable: true,
      message: `directory entry cn=${name} below ${BASE_DN} (cn=${name},${BASE_DN}): ${fault}`,
    });
  await t.rejects(directory().find('twice', signal), { message: /found 2 entries, expected exactly one$/ });
  await t.rejects(directory().find('absent', signal), { message: /cn=absent .*: no such entry$/ });
});

t.test('a name is a value, whatever it is made of', async (t) => {
  for (const name of ['*', 'by-*', ')(objectClass=*', 'by\\2duri', 'a\0b'])
    await t.rejects(directory().find(name, signal), { message: /no such entry$/ }, JSON.stringify(name));
});

t.test('servers are tried in their order', async (t) => {
  server.put(context('by-parameters', 'host=a', 'dbname=b'));
  const nobody = { host: '127.0.0.1', port: await freePort() };
  await t.resolves(directory({ servers: [nobody, here] }).find('by-parameters', signal));
  await t.resolves(directory({ servers: [here, nobody] }).probe(signal));
  await t.rejects(directory({ servers: [nobody] }).probe(signal), {
    kind: 'transient',
    unreachable: true,
    message: new RegExp(`^no directory server responds \\(127\\.0\\.0\\.1:${nobody.port}: .*ECONNREFUSED`),
  });
});

t.test('over TLS, with a certificate that is verified', async (t) => {
  const servers = [{ host: 'localhost', port: server.tlsPort }];
  const ca = readFileSync(server.caFile, 'utf8');
  await t.resolves(directory({ servers, tls: { rejectUnauthorized: true, ca } }).probe(signal));
  await t.rejects(directory({ servers, tls: { rejectUnauthorized: true } }).probe(signal), { message: /certificate/ });
  await t.resolves(directory({ servers, tls: { rejectUnauthorized: false } }).probe(signal));
});

t.test('a directory that anonymous clients may not read is read after a login, plain and over TLS', async (t) => {
  await using closed = await startSlapd(await mkdtemp(join(tmpdir(), 'longshore-slapd-')), 'readers');
  closed.put(context('genes', 'host=a', 'dbname=b'));
  const plain = { servers: [{ host: '127.0.0.1', port: closed.port }] };
  const ca = readFileSync(closed.caFile, 'utf8');
  const encrypted = { servers: [{ host: 'localhost', port: closed.tlsPort }], tls: { rejectUnauthorized: true, ca } };
  for (const [name, at] of Object.entries({ plain, encrypted })) {
    const found = { host: 'a', port: 5432, database: 'b' };
    t.same(await directory({ ...at, login: READER }).find('genes', signal), found, name);
    await t.resolves(directory({ ...at, login: READER }).probe(signal), name);
    await t.rejects(
      directory(at).find('genes', signal),
      {
        kind: 'transient',
        unreachable: true,
        message: /^directory server \S+ does not let anonymous clients read it$/,
      },
      name,
    );
  }
});

t.test('a wrong password, or an unknown name, is told as such, without the password, and is sent once', async (t) => {
  await using closed = await startSlapd(await mkdtemp(join(tmpdir(), 'longshore-slapd-')), 'readers');
  const servers = [
    { host: '127.0.0.1', port: closed.port },
    { host: '127.0.0.1', port: await freePort() },
  ];
  for (const login of [
    { ...READER, password: 'planted-wrong-password' },
    { dn: `cn=nobody,${BASE_DN}`, password: READER.password },
  ]) {
    const error = await directory({ servers, login })
      .find('genes', signal)
      .catch((error: unknown) => error);
    t.match(error, {
      kind: 'transient',
      unreachable: true,
      message: `directory server 127.0.0.1:${closed.port} refuses the login as ${login.dn}: wrong name or password`,
    });
    t.equal(refusalOf(error), 'login');
    t.notMatch(inspect(error, { depth: 9 }), /planted/);
  }
  const wrong = directory({ servers, login: { ...READER, password: 'planted-wrong-password' } });
  await t.rejects(wrong.probe(signal), { message: /refuses the login/ }, 'a probe logs in too');
});

t.test('a server that takes passwords over TLS only says so', async (t) => {
  await using closed = await startSlapd(await mkdtemp(join(tmpdir(), 'longshore-slapd-')), 'encrypted readers');
  const plain = { servers: [{ host: '127.0.0.1', port: closed.port }] };
  const error = await directory({ ...plain, login: READER })
    .probe(signal)
    .catch((error: unknown) => error);
  t.match(error, { message: /requires an encrypted connection$/ });
  t.equal(refusalOf(error), 'encryption');
  const tls = { rejectUnauthorized: true, ca: readFileSync(closed.caFile, 'utf8') };
  await t.resolves(
    directory({ servers: [{ host: 'localhost', port: closed.tlsPort }], tls, login: READER }).probe(signal),
  );
});

t.test('doctor logs in as the configuration says, and advises by what the configuration has', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-slapd-'));
  await using closed = await startSlapd(dir, 'readers');
  closed.put(context('sites', 'host=127.0.0.1', `port=${await freePort()}`, 'dbname=sites'));
  const file = join(dir, 'longshore.yaml');
  await run(init, [file, '--db', `127.0.0.1:${await freePort()}`], { PATH: process.env.PATH });
  const document = parse(await readFile(file, 'utf8'));
  const { username, password, schema } = document.installer.installTargets[0].controlDb;
  const lookup = { lookupCn: 'sites', username, password, schema };
  Object.assign(document.installer.installTargets[0], { controlDb: lookup, dataDb: lookup });
  const diagnosed = async (bindPassword: string): Promise<readonly Diagnosis[]> => {
    const servers = [`127.0.0.1:${closed.port}`];
    document.installer.ldap = { servers, baseDn: BASE_DN, bindDn: READER.dn, bindPassword };
    await writeFile(file, stringify(document), { mode: 0o600 });
    const loaded = await loadConfiguration(file, { env: {} });
    if (!loaded.ok) throw new Error(loaded.faults.map(formatFault).join('\n'));
    const checks = await checksOf(loaded.configuration, { file, env: {}, clock: systemClock });
    const named = checks.filter(({ name }) => /^(?:directory|target)/.test(name));
    return runChecks(named, systemClock, signal);
  };
  t.match(await diagnosed(READER.password), [
    {
      name: 'target SiteA control, target SiteA data',
      problems: [{ fix: /^nothing is listening there: start PostgreSQL, or correct the directory entry cn=sites; / }],
    },
    { name: 'directory', status: 'ok', tried: 'log in, read its root entry' },
  ]);
  const refused = await diagnosed('planted-wrong-password');
  const fix = /^correct installer\.ldap\.bindDn and installer\.ldap\.bindPassword/;
  t.match(refused, [{ problems: [{ problem: /refuses the login/, fix }] }, { problems: [{ fix }] }]);
  t.notMatch(JSON.stringify(refused), 'planted');
});

t.test('a server that hangs is given up when nobody waits any longer', async (t) => {
  server.pause();
  t.teardown(() => server.continue());
  const stop = new AbortController();
  const probing = directory().probe(stop.signal);
  stop.abort(new Error('no longer wanted'));
  await t.rejects(probing, { message: 'no longer wanted' });
});
