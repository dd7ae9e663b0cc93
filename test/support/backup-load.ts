// Users who upload, edit, share and delete while a backup is made, and what of that a restored installation has. Users do one thing
// after the other, and each thing that they begin comes after everything that had been answered by then, whoever had asked for
// it. So a restored state must have with each thing all that came before it.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { type Api, detailsOf } from './api.ts';
import { filesBelow, SITES, withCache } from './places.ts';
import { type WholeState, wholeState } from './site-state.ts';

export const USERS = ['12', '13', '14'];
export const FILE = { name: 'genes.txt', content: geneList(60) };

/** Something that a user asked for, and that was answered. */
export interface Done {
  readonly user: string;
  readonly dataset: string;
  readonly kind: 'upload' | 'edit' | 'share' | 'delete';
  /** How many things had been answered when it was begun. */
  readonly after: number;
  /** The new name, for an edit. */
  readonly name?: string;
  /** For a share. */
  readonly recipient?: string;
}

export class Load {
  /** In the order of the answers. */
  readonly done: Done[] = [];
  #over = false;
  /** Resolves when another thing is done. */
  #next = Promise.withResolvers<void>();
  readonly #uploads: number;
  readonly #running: Promise<void>[];

  /**
   * @param shared a dataset of each user that is installed
   * @param uploads most of them per user; afterwards they only share
   */
  constructor(
    users: readonly (readonly [user: string, api: Api, shared: string])[],
    uploads = Number.POSITIVE_INFINITY,
  ) {
    this.#uploads = uploads;
    this.#running = users.map((user) => this.#work(...user));
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#running);
  }

  /** Resolves when so many more things were done. */
  async goesOn(things: number): Promise<void> {
    const wanted = this.done.length + things;
    while (this.done.length < wanted) await Promise.race([this.#next.promise, ...this.#running]);
  }

  async #work(user: string, api: Api, shared: string): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      const send = async (
        kind: Done['kind'],
        dataset: string,
        more: object,
        method: string,
        path = '',
        body?: object,
      ) => {
        if (this.#over) return;
        await this.#do({ user, kind, ...more }, async () => {
          const status = await api.send(method, `/datasets/${dataset}${path}`, body);
          if (status >= 300) throw new Error(`${method} ${dataset}${path}: ${status}`);
          return dataset;
        });
      };
      const recipient = String(1_000 + n);
      await send('share', shared, { recipient }, 'PUT', `/shares/${recipient}/offer`, { action: 'grant' });
      if (n >= this.#uploads || this.#over) continue;
      const uploaded = await this.#do({ user, kind: 'upload' }, () => api.upload(detailsOf('genelist'), [FILE]));
      const name = `Edited ${user} ${n}`;
      await send('edit', uploaded, { name }, 'PATCH', '', { name: { value: name } });
      if (n % 3 === 2) await send('delete', uploaded, {}, 'DELETE');
    }
  }

  async #do(what: Omit<Done, 'after' | 'dataset'>, work: () => Promise<string>): Promise<string> {
    const after = this.done.length;
    const dataset = await work();
    this.done.push({ ...what, dataset, after });
    this.#next.resolve();
    this.#next = Promise.withResolvers();
    return dataset;
  }
}

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly recipients: readonly string[];
}

export const rowsOf = (dir: string): Promise<ReadonlyMap<string, Row>> =>
  withCache(dir, async (cache) => {
    const { rows } = await cache.query<Row>(
      `select dataset_id as id, d.metadata->>'name' as name, state,
         array(select recipient_id::text from dataset_share s where s.dataset_id = d.dataset_id) as recipients
       from dataset d`,
    );
    return new Map(rows.map((row) => [row.id, row]));
  });

export const pausesOf = (dir: string): Promise<readonly unknown[]> =>
  withCache(dir, async (cache) => (await cache.query('select kind, name, reason from pause')).rows);

/** Whether the state has it. */
function has(rows: ReadonlyMap<string, Row>, { kind, dataset, name, recipient = '' }: Done): boolean {
  const row = rows.get(dataset);
  if (!row || kind === 'upload') return row !== undefined;
  if (kind === 'edit') return row.name === name;
  return kind === 'share' ? row.recipients.includes(recipient) : row.state !== 'live';
}

export const setReconciler = async (dir: string, enabled: boolean): Promise<void> => {
  const file = join(dir, 'config.yaml');
  const document = parse(await readFile(file, 'utf8'));
  document.installer.daemons = { reconciler: { enabled } };
  await writeFile(file, stringify(document), { mode: 0o600 });
};

/**
 * Asserts that the restored installation in the directory has the state of one instant between two counts of done things, as a
 * whole. Returns what reads all states again.
 */
export async function demandOneInstant(
  t: Test,
  dir: string,
  load: Load,
  { before, after }: { readonly before: number; readonly after: number },
): Promise<() => Promise<Record<string, WholeState>>> {
  const rows = await rowsOf(dir);
  const kept = load.done.map((one) => has(rows, one));
  for (const [n, one] of load.done.entries()) {
    if (!kept[n]) continue;
    const lost = load.done.slice(0, one.after).filter((_, earlier) => !kept[earlier]);
    t.same(lost, [], `with ${one.kind} of ${one.dataset} there is all that came before it`);
  }
  t.notOk(kept.slice(0, before).includes(false), 'all that was done before the backup is there');
  t.same(
    load.done.filter((one, n) => kept[n] && one.after >= after),
    [],
    'nothing is there that was begun after the backup',
  );

  // Every dataset is whole, or gone as one that was deleted: in the cache, in the store, and on both sites.
  const states = async (): Promise<Record<string, WholeState>> => {
    const all: Record<string, WholeState> = {};
    for (const { user, dataset, kind } of load.done)
      if (kind === 'upload' && rows.has(dataset)) all[dataset] = await wholeState(dir, user, dataset, 'genelist');
    return all;
  };
  const restored = await states();
  const owners = new Map(load.done.map(({ dataset, user }) => [dataset, user]));
  const first = new Map<string, WholeState>();
  for (const [id, state] of Object.entries(restored)) {
    if (rows.get(id)?.state === 'live') {
      const owner = owners.get(id) ?? '';
      for (const site of SITES) t.match(state.sites[site], { status: 'complete/complete', rows: 60, shownTo: [owner] });
      t.same(state, first.get(owner) ?? state, `${id} is as the others of user ${owner}`);
      first.set(owner, state);
    } else
      for (const site of SITES) t.match(state.sites[site], { rows: 0, files: [], shownTo: [] }, `${id} is deleted`);
    t.match(state, { miscounted: 0, leftovers: { jobs: 0, leases: 0, attempts: 0, uploads: 0 } }, id);
  }
  for (const user of USERS) {
    const folders = (await filesBelow(join(dir, 'objects', 'objects', user))).map((key) => key.split('/')[0]);
    const known = [
      ...new Set(load.done.filter((one) => one.user === user && rows.has(one.dataset)).map((one) => one.dataset)),
    ];
    t.same(
      [...new Set(folders)].filter((id) => !rows.has(id ?? '')),
      [],
      'nothing in the store is unknown',
    );
    t.same(
      known.filter((id) => !folders.includes(id)),
      [],
      'nothing is missing from the store',
    );
  }
  for (const site of SITES)
    for (const name of await readdir(join(dir, 'sites', site)))
      t.equal(rows.get(name)?.state, 'live', `${name} lies on ${site}`);
  return states;
}
