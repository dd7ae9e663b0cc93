import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { type Advisory, auditedByRegistry, lockedPackages, vulnerable } from './advisories.ts';

const ADVISORY: Advisory = {
  id: 'GHSA-1',
  package: 'left',
  ranges: [
    ['1.2.0', '1.10.1'],
    ['2.0.0', '2.0.1'],
  ],
};

t.test('a version between the first that has a hole and the one that mends it is found', async (t) => {
  const found = (version: string) => vulnerable([{ name: 'left', version }], [ADVISORY]).length > 0;
  t.strictSame(['1.1.9', '1.2.0', '1.9.9', '1.10.0', '1.10.1', '2.0.0', '2.0.0-rc.1', '2.0.1', '10.0.0'].map(found), [
    false,
    ...[true, true, true],
    false,
    ...[true, true],
    ...[false, false],
  ]);
  t.strictSame(vulnerable([{ name: 'left', version: '2.0.0' }], [ADVISORY]), [
    'left 2.0.0 has GHSA-1; mended in 2.0.1',
  ]);
  t.strictSame(vulnerable([{ name: 'right', version: '2.0.0' }], [ADVISORY]), []);
});

t.test('packages within packages are looked at as well', async (t) => {
  const lock = {
    packages: {
      '': { version: '0.1.0' },
      'node_modules/a': { version: '1.0.0' },
      'node_modules/a/node_modules/@s/left': { version: '2.0.0' },
    },
  };
  t.strictSame(lockedPackages(lock), [
    { name: 'a', version: '1.0.0' },
    { name: '@s/left', version: '2.0.0' },
  ]);
});

t.test('an answer of the registry counts, anything else is none', async (t) => {
  t.strictSame(auditedByRegistry('{"vulnerabilities": {}}'), []);
  const hole = { vulnerabilities: { left: { severity: 'high', range: '<2' } } };
  t.strictSame(auditedByRegistry(JSON.stringify(hole)), ['left <2 has a hole, severity high: npm audit says more']);
  for (const printed of ['', 'null', '{"message": "405 Method Not Allowed", "statusCode": 405}', '<html>'])
    t.equal(auditedByRegistry(printed), undefined, printed);
});

t.test('every advisory of our list can be read', async (t) => {
  const file = join(import.meta.dirname, 'advisories.json');
  for (const { id, ranges } of JSON.parse(readFileSync(file, 'utf8')) as readonly Advisory[]) {
    t.match(id, /^GHSA(-[0-9a-z]{4}){3}$/);
    for (const version of ranges.flat()) t.match(version, /^\d+\.\d+\.\d+$/, id);
  }
});
