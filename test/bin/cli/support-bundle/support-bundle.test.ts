import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { stringify } from 'yaml';
import { EXIT } from '../../../../bin/cli/command.ts';
import { type PartReport, writeBundle } from '../../../../bin/cli/support-bundle/bundle.ts';
import { bundleParts } from '../../../../bin/cli/support-bundle/bundle-parts.ts';
import { secretsRemover, valueWithoutQuotes } from '../../../../bin/cli/support-bundle/redaction.ts';
import { supportBundle } from '../../../../bin/commands/support-bundle.ts';
import { ROOT_SCHEMA } from '../../../../config/schema/root.ts';
import { hideSecrets, secretsIn } from '../../../../config/secrets.ts';
import { readTarGz } from '../../../../engine/archive/tar-reader.ts';
import { completeDocument, FIXTURES, SECRETS } from '../../../config/complete-document.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';
import { run } from '../../../support/run-command.ts';

const signal = new AbortController().signal;
const LIMITS = { maxTotalBytes: 1e9, maxFileBytes: 1e9, maxEntries: 100 };

async function tempDir(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'longshore-bundle-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Contents by file. */
async function unpacked(file: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for await (const { path, body } of readTarGz(file, { limits: LIMITS }, signal)) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    found.set(path.replace('longshore-support/', ''), Buffer.concat(chunks).toString());
  }
  return found;
}

t.test('no secret of a configuration is in a bundle, wherever it was logged, and while nothing runs', async (t) => {
  const dir = await tempDir(t);
  const log = join(dir, 'longshore.log');
  for (const fixture of ['contract-form', 'embedded-form'] as const) {
    const planted = secretsIn(ROOT_SCHEMA, await completeDocument(fixture));
    t.ok(planted.length > 3);
    // A log has none. If one got there all the same, this is the last place to stop it.
    const lines = planted.flatMap((secret) => [
      JSON.stringify({ level: 'warn', msg: `refused ${secret}`, dataset: 'D1', err: { message: `'a.txt' ${secret}` } }),
      `not JSON: ${encodeURIComponent(secret)} "genes of Jane.txt"`,
      JSON.stringify({ url: `https://jane:${secret}@example.org/genes.txt?signature=${secret}`, address: '10.1.2.3' }),
    ]);
    await writeFile(log, lines.map((line) => `${line}\n`).join(''));
    const file = join(dir, `${fixture}.tar.gz`);
    const config = join(FIXTURES, `${fixture}.yaml`);
    const server = ['--server', 'http://127.0.0.1:1'];
    const { code, out } = await run(
      supportBundle,
      [file, '--config', config, '--log', log, ...server, '--json'],
      SECRETS,
    );
    t.equal(code, EXIT.ok);
    const { parts } = JSON.parse(out) as { parts: readonly PartReport[] };
    for (const { name, failure, bytes } of parts) t.ok((failure === undefined) !== (bytes === undefined), name);
    t.match(parts.find(({ name }) => name === 'health.json')?.failure, /127\.0\.0\.1/);
    const found = await unpacked(file);
    t.strictSame(JSON.parse(found.get('parts.json') ?? ''), parts);
    for (const name of [
      'version.json',
      'system.json',
      'configuration.yaml',
      'doctor.json',
      'databases.json',
      'longshore.log',
    ])
      t.ok(found.get(name), name);
    const all = [...found.values()].join('\n') + out;
    for (const secret of planted) t.notOk(all.includes(secret), secret);
    t.match(found.get('longshore.log'), /"dataset":"D1"/);
    t.notMatch(found.get('longshore.log'), /a\.txt|Jane|jane|signature|10\.1\.2\.3/);
  }
});

t.test('every secret that the printed configuration hides is known to be one', async (t) => {
  for (const fixture of ['contract-form', 'embedded-form'] as const) {
    const document = await completeDocument(fixture);
    const hidden = stringify(hideSecrets(ROOT_SCHEMA, document)).split('[hidden]').length - 1;
    t.equal(secretsIn(ROOT_SCHEMA, document).length, hidden);
    t.ok(hidden > 3);
  }
});

t.test('a faulty configuration is told by its faults', async (t) => {
  const dir = await tempDir(t);
  const config = join(dir, 'longshore.yaml');
  await writeFile(config, 'installer: 1\n');
  const file = join(dir, 'bundle.tar.gz');
  t.equal((await run(supportBundle, [file, '--config', config])).code, EXIT.ok);
  const found = await unpacked(file);
  t.match(found.get('configuration.yaml'), /^# The file has faults:\n(# .*\n)*# .*installer/);
  t.match(JSON.parse(found.get('parts.json') ?? ''), [{}, {}, {}, { name: 'doctor.json', failure: /has faults/ }]);
  await t.rejects(run(supportBundle, [file, '--config', config]), { message: /exists already/ });
});

t.test('a part that hangs, fails or is too large costs only itself', async (t) => {
  const dir = await tempDir(t);
  const clock = new VirtualClock();
  const file = join(dir, 'bundle.tar.gz');
  const parts = [
    { name: 'a', read: async () => 'a' },
    { name: 'hangs', read: () => new Promise<string>(() => undefined) },
    { name: 'fails', read: () => Promise.reject(new Error('a row of somebody')) },
    { name: 'large', read: async () => `begin${'x'.repeat(9 * 1024 * 1024)}` },
    { name: 'large.log', isLog: true as const, read: async () => `${'x'.repeat(9 * 1024 * 1024)}end` },
  ];
  const writing = writeBundle(file, parts, (text) => text, clock, signal);
  await clock.advance(20_000);
  t.match(await writing, [
    { name: 'a', bytes: 1 },
    { name: 'hangs', failure: 'it took longer than 20 s' },
    { name: 'fails', failure: 'it could not be read' },
    { name: 'large', bytes: 8 * 1024 * 1024, cut: true },
    { name: 'large.log', bytes: 8 * 1024 * 1024, cut: true },
  ]);
  const found = await unpacked(file);
  t.match(found.get('large'), /^begin/);
  t.match(found.get('large.log'), /end$/);
});

t.test('what is quoted, and what is behind the question mark of a URL, is left out; own words stay', async (t) => {
  const line = {
    msg: "lane 'import' is quiet",
    reason: 'entry "genes of Jane.txt" of \'a.zip\'',
    list: ['from http://x/y?z=1 on'],
  };
  t.strictSame(valueWithoutQuotes(line), {
    msg: "lane 'import' is quiet",
    reason: "entry '..' of '..'",
    list: ['from http://x/y?.. on'],
  });
  const remove = secretsRemover(undefined, ['a b"c/d']);
  t.equal(remove('a b"c/d, a b\\"c/d, a%20b%22c%2Fd'), '[hidden], [hidden], [hidden]');
  t.equal(remove('postgres://me:pw@db/x, Bearer abcdefghijk'), 'postgres://[hidden]@db/x, Bearer [hidden]');
});

t.test('of a log, the last lines are read', async (t) => {
  const dir = await tempDir(t);
  const log = join(dir, 'longshore.log');
  await writeFile(log, Array.from({ length: 1_000 }, (_, n) => `{"n":${n}}\n`).join(''));
  const sources = { file: undefined, loaded: undefined, client: () => Promise.reject(new Error()), env: {} };
  const part = (lines: number) =>
    bundleParts({ ...sources, log, postgresLog: undefined, lines }).find(({ name }) => name === 'longshore.log');
  t.equal(await part(2)?.read(signal), '{"n":998}\n{"n":999}\n');
});
