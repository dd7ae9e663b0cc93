// Documents in a bucket may come from another system, or from somebody's editor: any field may be of another type, or too long.

import { hash } from 'node:crypto';
import t from 'tap';
import { PostgresCatalog } from '../../../../engine/adapters/catalog/catalog-postgres.ts';
import { PostgresDatasetQueries } from '../../../../engine/adapters/datasets/dataset-queries-postgres.ts';
import { metadataDocument, parseMetadata } from '../../../../engine/model/metadata.ts';
import { olderRevisions } from '../../../../engine/model/older-revisions.ts';
import { Failure } from '../../../../engine/runtime/failure.ts';
import { cacheDatabase, grantLease } from '../../../support/cache-database.ts';
import { fullMetadataOf, newAddress } from '../../../support/dataset-samples.ts';

const signal = new AbortController().signal;
/** Longer than what PostgreSQL takes into an index, which compresses what repeats. */
const LONG = Array.from({ length: 200 }, (_, n) => hash('sha256', `${n}`)).join('');
const VALUES: readonly unknown[] = [
  5,
  true,
  'x',
  LONG,
  [],
  [5],
  [[]],
  [LONG],
  {},
  { x: 1 },
  [{}],
  [{ x: LONG }],
  { name: LONG, version: LONG },
  { originalId: LONG },
  { originalId: ['x'], revisions: [] },
  { originalId: 'x', revisionHistory: 'abc' },
  { originalId: 'x', revisions: {} },
];

const db = await cacheDatabase(t);
const catalog = new PostgresCatalog(db);
const queries = new PostgresDatasetQueries(db);

t.test('a document is registered, or refused with the name of the field', async (t) => {
  const fields = Object.keys(metadataDocument(fullMetadataOf(newAddress().owner, newAddress().dataset)));
  t.ok(fields.length > 20);
  for (const field of fields)
    for (const value of VALUES) {
      const at = newAddress();
      const document = { ...metadataDocument(fullMetadataOf(at.owner, at.dataset)), [field]: value };
      const said = `${field} = ${JSON.stringify(value).slice(0, 20)}`;
      try {
        const metadata = parseMetadata(JSON.stringify(document), 'here');
        await catalog.register(at, metadata, [], await grantLease(db, at.dataset), signal);
        const { dataset } = (await queries.view(at.dataset, signal)) ?? {};
        t.ok(dataset, said);
        await queries.related(at.dataset, metadata, at.owner, signal);
        olderRevisions(metadata, at.dataset);
      } catch (error) {
        if (error instanceof Failure && error.kind === 'rejected' && error.message.includes(`'${field}'`)) continue;
        t.fail(`${said}: ${error}`);
      }
    }
});

t.test('an identifier that no index holds relates no datasets, and stays in the document', async (t) => {
  const at = newAddress();
  const publications = [{ type: 'doi', identifier: LONG, isPrimary: true }] as const;
  const metadata = { ...fullMetadataOf(at.owner, at.dataset), projectName: LONG, programName: LONG, publications };
  await catalog.register(at, metadata, [], await grantLease(db, at.dataset), signal);
  t.match(await catalog.find(at.dataset, signal), { metadata: { projectName: LONG, programName: LONG, publications } });
  const { datasets, identifiers } = (
    await db.query<{ readonly datasets: number; readonly identifiers: number }>(
      `select count(*) filter (where coalesce(project_name, program_name) is not null)::integer as datasets,
        (select count(*)::integer from dataset_publication p where p.dataset_id = $1) as identifiers
       from dataset where dataset_id = $1`,
      [at.dataset],
    )
  )[0] as { readonly datasets: number; readonly identifiers: number };
  t.strictSame([datasets, identifiers], [0, 0]);
});
