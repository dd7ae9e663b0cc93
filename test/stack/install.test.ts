// What a machine is told that cannot get a program: which one, where it comes from, what helps, and how to do without it.

import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { filesOf, root, SUITES, type Suite } from '../run/suites.ts';
import { NEEDED_BY, PROGRAM_NAMES, testsWithout } from './programs.ts';

/** The programs of the path fail as if nothing could be reached, the cache folder is empty, and no index of packages answers. */
function install(t: Test, ...args: readonly string[]) {
  const dir = t.testdir();
  for (const name of ['go', 'mvn', 'apt-get']) {
    writeFileSync(
      join(dir, name),
      `#!/bin/sh\n[ "$1" = version ] && exit 0\necho "${name}: connection refused" >&2\nexit 1\n`,
    );
    chmodSync(join(dir, name), 0o755);
  }
  const cache = join(dir, 'cache');
  const env = {
    ...process.env,
    PATH: `${dir}:${process.env.PATH}`,
    XDG_CACHE_HOME: cache,
    PIP_INDEX_URL: 'http://127.0.0.1:1/simple',
    PIP_RETRIES: '0',
  };
  const script = join(import.meta.dirname, 'install.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], { env, encoding: 'utf8' });
  return { status, stderr: stderr.replaceAll(cache, 'CACHE') };
}

const FAULTS = {
  minio: [
    'missing: minio, from the Go module proxy by Go (github.com/minio/minio@',
    'where Go does not reach it, set GOPROXY to a mirror, or copy CACHE/longshore-tests/minio-',
  ],
  kafka: [
    'missing: kafka, from Maven Central by mvn (Apache Kafka ',
    'where Maven does not reach it, name a mirror in ~/.m2/settings.xml, or copy CACHE/longshore-tests/kafka-',
  ],
  'biom-format': [
    'missing: biom-format, from PyPI by pip (biom-format==',
    'where pip does not reach it, set PIP_INDEX_URL to a mirror, or copy CACHE/longshore-tests/biom-format-',
  ],
} as const;

for (const [name, [what, get]] of Object.entries(FAULTS))
  t.test(`${name} that cannot be had is named, with its origin and two ways on`, async (t) => {
    const { status, stderr } = install(t, name);
    t.equal(status, 1);
    const [missing = '', toHave = '', without] = stderr.slice(stderr.indexOf('missing: ')).split('\n');
    t.ok(missing.startsWith(what), missing);
    t.ok(toHave.startsWith(`  to have it: ${get}`), toHave);
    t.equal(without, `  to do without it: npm run test:stack -- --without ${name}`);
    t.notMatch(stderr, /node:internal/, 'no stack of ours');
  });

t.test('all that cannot be had is in one message, after what other programs wrote', async (t) => {
  const { status, stderr } = install(t, 'minio', 'kafka', '--without', 'slapd');
  t.equal(status, 1);
  t.match(stderr, /^go: connection refused\n|^mvn: connection refused\n/m);
  const message = stderr.slice(stderr.indexOf('missing: ')).trimEnd().split('\n');
  t.equal(message.length, 6);
  t.equal(message[2], '  to do without it: npm run test:stack -- --without slapd --without kafka');
});

t.test('what is left out is not asked for', async (t) => {
  t.same(install(t, 'kafka', 'minio', '--without', 'kafka', '--without=minio'), { status: 0, stderr: '' });
});

t.test('a name that is no program is refused, with those that are', async (t) => {
  const { status, stderr } = install(t, '--without', 'mino');
  t.equal(status, 2);
  t.equal(stderr, `--without must be one of ${PROGRAM_NAMES.join(', ')}, not 'mino'\n`);
});

t.test('without a program, the tests that need it are left out, and no others', async (t) => {
  const all = filesOf(SUITES.stack as Suite).map((file) => join(root, file));
  const left = (...names: readonly string[]) => {
    const kept = testsWithout(names, all);
    return all.filter((file) => !kept.includes(file)).map((file) => relative(import.meta.dirname, file));
  };
  t.same(left(), []);
  t.same(left('minio').sort(), ['full-stack-minio.test.ts', 's3-minio.test.ts', 's3-notifications-minio.test.ts']);
  t.same(left('biom-format'), ['biom-format.test.ts']);
  for (const file of ['kafka.test.ts', 'kafka-readers.test.ts', 'full-stack.test.ts', 'full-stack-minio.test.ts'])
    t.ok(left('kafka').includes(file), file);
  t.notOk(left('kafka').includes('s3-objects.test.ts'));
  t.same(Object.keys(NEEDED_BY).sort(), [...PROGRAM_NAMES].sort());
  for (const [name, files] of Object.entries(NEEDED_BY)) if (files.length > 0) t.not(left(name).length, 0, name);
});
