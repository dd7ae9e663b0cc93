import { randomUUID } from 'node:crypto';
import t from 'tap';
import { PostgresIdempotencyKeys, sealKey } from '../../../../engine/adapters/idempotency/idempotency-keys-postgres.ts';
import {
  accessMigrations,
  cacheMigrations,
  migrate,
  reportMigrations,
} from '../../../../engine/adapters/migrations/migrations.ts';
import { PostgresUploads } from '../../../../engine/adapters/uploads/uploads-postgres.ts';
import type { KeyClaim } from '../../../../engine/ports/idempotency-keys.ts';
import { idempotencyKeysConformance } from '../../../conformance/idempotency-keys.ts';
import { acceptedUpload } from '../../../conformance/uploads.ts';
import { FakeIdempotencyKeys } from '../../../fakes/fake-idempotency-keys.ts';
import { livingProcess, openDatabase } from '../../../support/database.ts';
import { newAddress } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const SCHEMAS = { cache: cacheMigrations, access: accessMigrations, report: reportMigrations };

for (const [schema, migrations] of Object.entries(SCHEMAS))
  t.test(`keys in the schema ${schema}`, async (t) => {
    const db = await openDatabase(t, schema);
    await migrate(db, schema, await migrations(), signal);
    idempotencyKeysConformance(t, async () => new PostgresIdempotencyKeys(db));
  });

t.test('keys of the fake', async (t) => idempotencyKeysConformance(t, async () => new FakeIdempotencyKeys()));

const cache = await openDatabase(t, 'cache');
await migrate(cache, 'cache', await cacheMigrations(), signal);
const keys = new PostgresIdempotencyKeys(cache);
const answer = { code: 202, body: '{}' };
const LOST = { kind: 'transient', message: /reservation is gone/ };
const claimNow = async (claim: KeyClaim, untilMs: number) => {
  const claimed = await keys.claim(claim, { nowMs: untilMs - 1_000, untilMs, most: 10 }, signal);
  t.equal(claimed.kind, 'claimed');
};
const keyOf = (): KeyClaim => ({ caller: 'user:1', operation: 'create', key: randomUUID(), holder: randomUUID() });

t.test('the acceptance of a dataset and the answer of its key are one: both, or none', async (t) => {
  const { instance } = await livingProcess(t, cache);
  const uploads = new PostgresUploads(cache, { instance });
  const accept = async (claim: KeyClaim) => {
    const at = newAddress();
    await uploads.begin(at, 5, { bytes: 1_000 }, signal);
    const keyed = { claim, fingerprint: 'f', answer, expiresMs: 10_000 };
    await uploads.accept(acceptedUpload(at, { keyed }), signal);
    return at;
  };
  const first = keyOf();
  await claimNow(first, 2_000);
  await accept(first);
  const again = { ...first, holder: randomUUID() };
  t.strictSame(await keys.claim(again, { nowMs: 9_999, untilMs: 11_000, most: 10 }, signal), {
    kind: 'answered',
    fingerprint: 'f',
    answer,
  });
  await t.rejects(accept(first), LOST, 'it has been answered');

  const lost = keyOf();
  await claimNow(lost, 2_000);
  await claimNow({ ...lost, holder: randomUUID() }, 3_000);
  const datasets = () => cache.query('select dataset_id from dataset order by dataset_id');
  const before = await datasets();
  await t.rejects(accept(lost), LOST);
  t.strictSame(await datasets(), before, 'no dataset without its key');
});

t.test('a transaction whose claim was lost is rolled back', async (t) => {
  const lost = keyOf();
  const sealed = cache.transaction(async (sql) => {
    await sql.query('create table made (id integer)');
    await sealKey(sql, { claim: lost, fingerprint: 'f', answer, expiresMs: 10_000 });
  }, signal);
  await t.rejects(sealed, { kind: 'transient', message: /has taken over the idempotency key/ });
  t.strictSame(await cache.query(`select from information_schema.tables where table_name = 'made'`), []);
});
