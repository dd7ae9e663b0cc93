import { createHash } from 'node:crypto';
import t from 'tap';
import { isSha256, parseDigestField, sha256Field } from '../../../engine/model/digest.ts';

const [SHORT, LONG] = ['sha256', 'sha512'].map((name) => createHash(name).update('a').digest('base64'));
const short = { algorithm: 'sha-256', hash: 'sha256', value: SHORT };
const long = { algorithm: 'sha-512', hash: 'sha512', value: LONG };

t.test('reads the digests that we can compute, whatever is beside them', async (t) => {
  const cases: readonly (readonly [string, readonly unknown[]])[] = [
    ['', []],
    [`sha-256=:${SHORT}:`, [short]],
    [`  sha-512=:${LONG}: ,\tsha-256=:${SHORT}:;x=1`, [long, short]],
    [`md5=:AAAA:, sha-256=:${SHORT}:, crc32c=::`, [short]],
    ['md5=:AAAA:', []],
    [`sha-256=:${Buffer.alloc(32).toString('base64')}:, sha-256=:${SHORT}:`, [short]],
    [`sha-256=:${SHORT?.replace(/=+$/, '')}:`, [short]],
  ];
  for (const [field, found] of cases) t.strictSame(parseDigestField(field), found, field);
});

t.test('says what is wrong with others', async (t) => {
  for (const field of [
    'oops',
    'sha-256',
    'sha-256=AAAA',
    'SHA-256=:AAAA:',
    'sha-256=:?:',
    'md5=:AAAA:,,',
    'sha-256=:AAAA',
  ])
    t.match(parseDigestField(field), { fault: /^holds '.*': expected such as sha-256=:BASE64:$/ }, field);
  t.strictSame(parseDigestField('sha-256=:AAAA:'), {
    fault: "has a sha-256 of 3 bytes in 'sha-256=:AAAA:': expected 32",
  });
  t.match(parseDigestField(`sha-512=:${SHORT}:`), { fault: /has a sha-512 of 32 bytes .* expected 64$/ });
});

t.test('writes the field for a digest in hex, and knows those', async (t) => {
  const hex = Buffer.from(SHORT ?? '', 'base64').toString('hex');
  t.equal(sha256Field(hex), `sha-256=:${SHORT}:`);
  t.ok(isSha256(hex));
  for (const other of [hex.toUpperCase(), hex.slice(1), `${hex}0`, 1, undefined]) t.notOk(isSha256(other));
});
