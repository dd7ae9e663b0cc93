// What the rows of every control schema are, whatever database they are in: sites read them.

import type { Test } from 'tap';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { InstallTarget } from '../../engine/ports/install-target.ts';
import { fullMetadataOf, metadataOf, newAddress, newUser, PLASMO, TOXO } from '../support/dataset-samples.ts';

type Row = Record<string, unknown>;

export interface ControlSchema {
  /** Two targets that share the schema, `Plasmo` and `Toxo`. */
  readonly target: InstallTarget;
  readonly neighbour: InstallTarget;
  /** Rows of a table, or of the view, that are about the dataset: big numbers are text, flags are booleans. */
  readonly rows: (table: string, columns: string, dataset: DatasetId) => Promise<readonly Row[]>;
  /** The neighbour inside of a transaction of its own, which `work` holds open. */
  readonly inTransaction: (work: (neighbour: InstallTarget) => Promise<void>) => Promise<void>;
  /** Until another connection waits for a lock that we hold. */
  readonly someoneWaits: () => Promise<void>;
}

/** The rows of every table of parts, of a dataset with all metadata that there is. */
const FULL = {
  dataset_meta: [
    [
      'Genes of interest',
      'Genes of interest',
      'Some genes',
      'Größe λ 🧬 and "quotes"',
      'Program Q',
      'Project P',
      'Doe et al.',
      'As is',
    ],
  ],
  dataset_characteristics: [['cohort', 'observational', '1-5', 2001, 2005]],
  dataset_organism: [
    ['experimental', 'P. falciparum', '3D7'],
    ['host', 'H. sapiens', 'none'],
  ],
  dataset_dependency: [
    [0, 'build-68', 'Build', '68'],
    [1, 'annotation', 'Annotation', '2'],
  ],
  dataset_publication: [
    [0, '12345', 'pmid', 'Doe 2020', true],
    [1, '10.1/x', 'doi', null, false],
  ],
  dataset_hyperlink: [[0, 'https://x.org', null]],
  dataset_contact: [
    [0, true, 'Jo', 'B', 'Doe', 'jo@x.org', 'X', null],
    [1, false, null, null, null, null, null, 'Peru'],
  ],
  dataset_funding_award: [[0, 'NIH', 'R01']],
  dataset_country: [
    [0, 'Peru'],
    [1, 'Kenya'],
  ],
  dataset_species: [[0, 'H. sapiens']],
  dataset_outcome: [[0, 'malaria']],
  dataset_associated_factor: [
    [0, 'age'],
    [1, 'sex'],
  ],
  dataset_sample_type: [[0, 'blood']],
  dataset_doi: [[0, '10.1/abc', 'paper']],
  dataset_bioproject_id: [[0, 'PRJNA1', 'reads']],
  dataset_link: [[0, 'https://example.org/d', true]],
  dataset_source: [[0, 'https://source.org', '7']],
};
const CHILDREN = Object.keys(FULL);

export function controlSchemaConformance(t: Test, { target, neighbour, ...schema }: ControlSchema): void {
  const signal = new AbortController().signal;

  const setup = async () => {
    const at = newAddress();
    const metadata = fullMetadataOf(at.owner, at.dataset);
    const document = { ...at, metadata, category: 'Gene List', showVisibility: true };
    const rows = (table: string, columns = '*') => schema.rows(table, columns, at.dataset);
    const children = async () => {
      const found: Record<string, unknown[][]> = {};
      for (const table of CHILDREN) {
        const all = await rows(table, '*');
        const values = all.map(({ dataset_id: _id, ...row }) => Object.values(row));
        found[table] = values.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
      }
      return found;
    };
    return { ...at, document, rows, children };
  };

  t.test('writes every part of the metadata in its order', async (t) => {
    const { owner, dataset, document, rows, children } = await setup();
    await target.write(dataset, { document }, 3, signal);
    t.strictSame(await rows('dataset'), [
      {
        dataset_id: dataset,
        original_id: dataset,
        owner,
        type_name: 'genelist',
        type_version: '1.0',
        category: 'Gene List',
        deleted_status: 0,
        accessibility: 'protected',
        is_public: 0,
        days_for_approval: 30,
        creation_date: new Date('2026-01-02T03:04:05.678Z'),
        lease_token: 3,
      },
    ]);
    t.strictSame(await rows('dataset_project', 'project_id, project_display_name'), [
      { project_id: PLASMO, project_display_name: 'Plasmo' },
    ]);
    t.strictSame(await children(), FULL);
  });

  t.test('the first rows are those of a write, whether the owner described much or little', async (t) => {
    const { owner, dataset, document, rows, children } = await setup();
    const brief = { ...document, metadata: metadataOf(owner) };
    const all = async () => ({
      ...(await children()),
      dataset: await rows('dataset'),
      installs: await rows('dataset_install'),
      projects: await rows('dataset_project'),
      visible: await rows('dataset_visibility'),
    });
    for (const one of [document, brief]) {
      t.equal(await target.begin(dataset, { document: one }, 3, signal), true);
      const begun = await all();
      await target.purge(dataset, 3, signal);
      t.strictSame(await rows('dataset'), []);
      await target.write(dataset, { document: one }, 3, signal);
      t.strictSame(begun, await all());
      t.equal(await neighbour.begin(dataset, { document: brief }, 3, signal), true);
      t.strictSame(await rows('dataset_contact'), [], 'the rows of a neighbor are replaced');
      await neighbour.purge(dataset, 3, signal);
      await target.purge(dataset, 3, signal);
    }
  });

  t.test('a later document replaces every row of the earlier, its type too', async (t) => {
    const { owner, dataset, document, rows, children } = await setup();
    await target.write(dataset, { document }, 3, signal);
    const metadata = metadataOf(owner, { type: { name: 'rnaseq', version: '2' }, visibility: 'public', name: 'n\0' });
    await target.write(dataset, { document: { ...document, metadata, category: 'RNA-Seq' } }, 3, signal);
    t.strictSame(await rows('dataset', 'type_name, type_version, category, accessibility, is_public'), [
      { type_name: 'rnaseq', type_version: '2', category: 'RNA-Seq', accessibility: 'public', is_public: 1 },
    ]);
    const empty = Object.fromEntries(CHILDREN.map((table) => [table, []]));
    t.strictSame(await children(), {
      ...empty,
      dataset_meta: [['n\ufffd', 'n\ufffd', 'Some genes', null, null, null, null, null]],
    });
  });

  t.test('of a document whose rows are there only the visibility is written', async (t) => {
    const { dataset, document, rows, children } = await setup();
    await target.write(dataset, { document: { ...document, showVisibility: false } }, 3, signal);
    t.same(await rows('dataset', 'accessibility'), [{ accessibility: 'private' }]);
    await target.write(dataset, { document: { ...document, written: true } }, 3, signal);
    t.same(await rows('dataset', 'accessibility'), [{ accessibility: 'protected' }]);
    t.same(await rows('dataset_install', 'accessibility'), [{ accessibility: 'protected' }]);
    t.strictSame(await children(), FULL);
  });

  t.test('a document that cannot be written leaves the earlier one whole', async (t) => {
    const { dataset, document, children } = await setup();
    await target.write(dataset, { document }, 3, signal);
    const before = await children();
    const metadata = { ...document.metadata, funding: [{ agency: 'NIH' }] } as never;
    await t.rejects(target.write(dataset, { document: { ...document, metadata } }, 4, signal), {
      kind: 'defect',
      message: /award_number/,
    });
    t.strictSame(await children(), before);
    await target.write(dataset, { document }, 3, signal);
  });

  t.test('the site view tells owner and recipients apart', async (t) => {
    const { owner, dataset, document, rows } = await setup();
    const friend = newUser();
    await target.write(
      dataset,
      { document: { ...document, metadata: { ...document.metadata, visibility: 'public' } } },
      1,
      signal,
    );
    await target.writeVisibility(dataset, [friend], { modified: new Date(0), etag: 'e' }, 1, signal);
    for (const kind of ['meta', 'data'] as const)
      await target.write(dataset, { messages: { [kind]: { status: 'complete' } } }, 1, signal);
    const columns = 'user_id, project_id, is_owner, accessibility, is_public, name';
    const shown = await rows('available_user_datasets', columns);
    const common = { project_id: PLASMO, name: 'Genes of interest' };
    const byUser = (a: Row, b: Row) => (String(a.user_id) < String(b.user_id) ? -1 : 1);
    t.strictSame(
      [...shown].sort(byUser),
      [
        { user_id: owner, is_owner: 1, accessibility: 'public', is_public: 1, ...common },
        { user_id: friend, is_owner: 0, accessibility: 'private', is_public: 0, ...common },
      ].sort(byUser),
    );
  });

  t.test("the dataset's row follows the liveliest and most visible of its targets", async (t) => {
    const { dataset, document, rows } = await setup();
    const steps: readonly (readonly [() => Promise<unknown>, number, string])[] = [
      [() => target.write(dataset, { document: { ...document, showVisibility: false } }, 1, signal), 0, 'private'],
      [() => neighbour.write(dataset, { document }, 1, signal), 0, 'protected'],
      [() => target.setDeleted(dataset, 2, 1, signal), 0, 'protected'],
      [() => neighbour.setDeleted(dataset, 1, 1, signal), 2, 'protected'],
      [() => target.setDeleted(dataset, 1, 1, signal), 1, 'protected'],
      [() => neighbour.purge(dataset, 1, signal), 1, 'private'],
    ];
    const summary = () => rows('dataset', 'deleted_status, accessibility');
    for (const [step, deleted_status, accessibility] of steps) {
      await step();
      t.same(await summary(), [{ deleted_status, accessibility }]);
    }
    await target.purge(dataset, 1, signal);
    t.same(await summary(), []);
  });

  t.test('a write that had to wait for that of another target of the schema follows what it wrote', async (t) => {
    for (const first of ['no row', 'a row'] as const) {
      const { dataset, document, rows } = await setup();
      const secret = { ...document, showVisibility: false };
      if (first === 'a row')
        for (const one of [target, neighbour]) await one.write(dataset, { document: secret }, 3, signal);
      let waiting: Promise<void> | undefined;
      await schema.inTransaction(async (other) => {
        await other.write(dataset, { document }, 3, signal);
        waiting = target.write(dataset, { document: secret, messages: { data: { status: 'running' } } }, 3, signal);
        await schema.someoneWaits();
      });
      await waiting;
      t.same(await rows('dataset', 'accessibility'), [{ accessibility: 'protected' }], first);
      const installs = await rows('dataset_install', 'target_id, accessibility');
      t.same(
        new Map(installs.map((row) => [row.target_id, row.accessibility])),
        new Map([
          [TOXO, 'protected'],
          [PLASMO, 'private'],
        ]),
        first,
      );
      t.match(await target.state(dataset, signal), { messages: { data: { status: 'running' } } });
    }
  });

  t.test('a write that had to wait for that of a later holder of the lease is refused', async (t) => {
    const { dataset, document, rows, children } = await setup();
    await target.write(dataset, { document }, 3, signal);
    const metadata = { ...document.metadata, name: 'Late', contacts: [] };
    let late: Promise<unknown> | undefined;
    await schema.inTransaction(async (other) => {
      await other.write(dataset, { document }, 4, signal);
      const write = target.write(dataset, { document: { ...document, metadata } }, 3, signal);
      late = t.rejects(write, { kind: 'aborted', message: /lease lost/ });
      await schema.someoneWaits();
    });
    await late;
    t.same([await rows('dataset', 'lease_token'), await children()], [[{ lease_token: 4 }], FULL]);
  });

  t.test('a deletion that had to wait for that of another target follows it', async (t) => {
    const { dataset, document, rows } = await setup();
    for (const one of [target, neighbour]) await one.write(dataset, { document }, 3, signal);
    let waiting: Promise<void> | undefined;
    await schema.inTransaction(async (other) => {
      await other.setDeleted(dataset, 1, 3, signal);
      waiting = target.setDeleted(dataset, 2, 3, signal);
      await schema.someoneWaits();
    });
    await waiting;
    t.same(await rows('dataset', 'deleted_status'), [{ deleted_status: 2 }]);
  });
}
