// Problems in memory: what the job table and the catalog say has failed.

import { typeKey } from '../../engine/model/data-types.ts';
import type { LaneName } from '../../engine/model/event.ts';
import type { DatasetId } from '../../engine/model/ids.ts';
import type { InstallRecord } from '../../engine/ports/catalog.ts';
import type {
  Discard,
  OwnerRetries,
  Problem,
  ProblemCause,
  ProblemFilter,
  ProblemKey,
  ProblemOutcome,
  Problems,
} from '../../engine/ports/problems.ts';
import type { FakeCatalog, FakeDataset } from './fake-catalog.ts';
import { FakeJobAdmin } from './fake-job-admin.ts';
import type { JobTable } from './fake-jobs.ts';

const GIVEN_UP = 'an operator gave this step up; it is not repeated by itself';

export class FakeProblems implements Problems, OwnerRetries {
  readonly #table: JobTable;
  readonly #catalog: FakeCatalog;
  readonly #admin: FakeJobAdmin;
  /** When a status was first seen to be failed. */
  readonly #since = new Map<string, Date>();
  /** Discarded installs, and the status that was discarded. */
  readonly #installs = new Map<string, { readonly discard: Discard; readonly install: InstallRecord }>();
  readonly #ownerRetried = new Map<DatasetId, string>();
  /** Datasets whose raw files are gone. */
  readonly filesGone = new Set<DatasetId>();

  constructor(table: JobTable, catalog: FakeCatalog) {
    this.#table = table;
    this.#catalog = catalog;
    this.#admin = new FakeJobAdmin(table, catalog);
  }

  page: Problems['page'] = async (filter, { limit, after }, signal) => {
    signal.throwIfAborted();
    const until = after?.until ?? microsOf(new Date(this.#table.clock.now()));
    const behind = ({ since, id }: Problem): boolean =>
      !after || orderOf(since, id) > orderOf(momentAt(after.since), after.id);
    const found = this.#matching(filter)
      .filter((one) => behind(one) && one.since <= momentAt(until))
      .sort((a, b) => (orderOf(a.since, a.id) < orderOf(b.since, b.id) ? -1 : 1));
    const problems = found.slice(0, limit);
    const last = problems.at(-1);
    const next = last && found.length > limit ? { until, since: microsOf(last.since), id: last.id } : undefined;
    return { problems, next };
  };

  causes: Problems['causes'] = async (filter, limit, signal) => {
    signal.throwIfAborted();
    const groups = Map.groupBy(this.#matching(filter), ({ cause, lane, state }) => [cause, lane, state].join('\n'));
    return [...groups.values()]
      .flatMap(([...group]): ProblemCause[] => {
        const sorted = group.sort((a, b) => b.since.getTime() - a.since.getTime() || (a.id < b.id ? -1 : 1));
        const [newest, oldest] = [sorted[0], sorted.at(-1)];
        if (!newest || !oldest) return [];
        const { cause, lane, state, id, message } = newest;
        const times = { oldest: oldest.since, newest: newest.since };
        return [{ cause, lane, state, count: group.length, ...times, example: { id, message } }];
      })
      .sort((a, b) => b.count - a.count || (a.cause < b.cause ? -1 : 1))
      .slice(0, limit);
  };

  counts: Problems['counts'] = async (filter, signal) => {
    signal.throwIfAborted();
    const groups = Map.groupBy(this.#matching(filter), ({ lane }) => lane);
    return new Map([...groups].map(([lane, group]) => [lane, group.length]));
  };

  retry: Problems['retry'] = async (keys, eventId, signal) => {
    signal.throwIfAborted();
    return Promise.all(keys.map((key) => this.#retry(key, eventId, false)));
  };

  async #retry({ lane, dataset }: ProblemKey, eventId: number, byOwner: boolean): Promise<ProblemOutcome> {
    const row = this.#table.get(lane, dataset);
    if (row?.state === 'running') return 'busy';
    if (row?.state === 'queued') return 'not-failed';
    const known = this.#catalog.datasets.get(dataset);
    if (row) await this.#admin.retry(row.id, new AbortController().signal);
    else {
      if (!known || !isFailed(known, lane)) return 'not-failed';
      if (lane === 'upload' && this.filesGone.has(dataset)) return 'files-gone';
      this.#catalog.apply(
        dataset,
        lane === 'import'
          ? [{ set: 'import', status: 'queued', messages: [] }]
          : [{ set: 'upload', status: 'running' }],
      );
      this.#table.enqueue({ lane, dataset, owner: known.owner, eventId, source: byOwner ? 'api' : 'admin' });
    }
    if (byOwner) this.#ownerRetried.set(dataset, lane);
    else this.#ownerRetried.delete(dataset);
    return 'done';
  }

  discard: Problems['discard'] = async (keys, { by, reason }, signal) => {
    signal.throwIfAborted();
    const outcomes = keys.map((key): ProblemOutcome => {
      const found = this.#all().find(({ id }) => id === idOf(key));
      const row = this.#table.get(key.lane, key.dataset);
      if (row?.state === 'running') return 'busy';
      if (!found) return 'not-failed';
      if (found.state === 'delayed') return 'delayed';
      const discard = { ...key, by, reason, at: new Date(this.#table.clock.now()), message: found.message };
      const install = this.#install(key);
      if (install) this.#installs.set(found.id, { discard, install });
      else {
        if (row) this.#table.remove(row);
        this.#giveUp(key);
        this.#table.discards.set(`${key.lane} ${key.dataset}`, discard);
      }
      return 'done';
    });
    for (const { lane, dataset, target } of keys) {
      const row = this.#table.get(lane, dataset);
      const others = this.#all().some((one) => one.lane === lane && one.dataset === dataset && one.target);
      if (target === undefined || row?.state !== 'dead' || others) continue;
      this.#table.remove(row);
      const at = new Date(this.#table.clock.now());
      const message = row.failure?.message ?? '';
      this.#table.discards.set(`${lane} ${dataset}`, { lane, dataset, target: undefined, by, reason, at, message });
    }
    return outcomes;
  };

  #giveUp({ lane, dataset }: ProblemKey): void {
    const known = this.#catalog.datasets.get(dataset);
    if (!known) return;
    const open = ['queued', 'in-progress'].includes(known.import.status);
    if (lane === 'upload' && known.upload.status === 'running')
      this.#catalog.apply(dataset, [{ set: 'upload', status: 'failed', message: GIVEN_UP }]);
    if (lane === 'import' && (open || (known.import.status === 'failed' && known.import.messages.length === 0)))
      this.#catalog.apply(dataset, [{ set: 'import', status: 'failed', messages: [GIVEN_UP] }]);
  }

  discards: Problems['discards'] = async (dataset, signal) => {
    signal.throwIfAborted();
    const installs = [...this.#installs.values()].flatMap(({ discard, install }) =>
      this.#install(discard) === install ? [discard] : [],
    );
    return [...this.#table.discards.values(), ...installs]
      .filter((one) => one.dataset === dataset)
      .sort((a, b) => b.at.getTime() - a.at.getTime() || (idOf(a) < idOf(b) ? -1 : 1));
  };

  retryOnce: OwnerRetries['retryOnce'] = async (dataset, eventId, signal) => {
    signal.throwIfAborted();
    const known = this.#catalog.datasets.get(dataset);
    const lane = known?.upload.status === 'failed' ? 'upload' : 'import';
    if (known?.state !== 'live' || !isFailed(known, lane)) return 'not-failed';
    const isStopped = this.#table.get(lane, dataset)?.failure?.kind === 'rejected';
    if (isStopped || this.#table.discards.has(`${lane} ${dataset}`)) return 'not-theirs';
    if (this.#ownerRetried.get(dataset) === lane) return 'asked-before';
    const outcome = await this.#retry({ lane, dataset, target: undefined }, eventId, true);
    return outcome === 'done' || outcome === 'files-gone' ? outcome : 'busy';
  };

  #matching(filter: ProblemFilter): readonly Problem[] {
    const { ids, lane, state, types, target, owner, dataset, contains, cause, from, before } = filter;
    return this.#all().filter(
      (one) =>
        (ids?.includes(one.id) ?? true) &&
        (state ? one.state === state : ids !== undefined || one.state !== 'delayed') &&
        one.lane === (lane ?? one.lane) &&
        (types?.some((type) => type === one.type || type === one.type?.split(':')[0]) ?? true) &&
        one.target === (target ?? one.target) &&
        one.owner === (owner ?? one.owner) &&
        one.dataset === (dataset ?? one.dataset) &&
        one.message.toLowerCase().includes(contains?.toLowerCase() ?? '') &&
        one.cause === (cause ?? one.cause) &&
        (!from || one.since >= from) &&
        (!before || one.since < before),
    );
  }

  #all(): readonly (Problem & ProblemKey)[] {
    const datasets = [...this.#catalog.datasets.values()].filter(({ state }) => state === 'live');
    const installs = datasets.flatMap((known) => known.installs.map((install) => ({ known, install })));
    const found: (ProblemKey & Omit<Problem, 'id' | 'cause' | 'name' | keyof ProblemKey>)[] = [];
    for (const { lane, dataset, owner, type, state, failure, runAt, created } of this.#table.rows) {
      if (state !== 'dead' && state !== 'delayed') continue;
      const shown = installs.some(
        ({ known, install }) => known.dataset === dataset && laneOf(install) === lane && isStuck(install),
      );
      if (state === 'dead' && shown) continue;
      const since = new Date(state === 'dead' ? runAt : created);
      found.push({ lane, dataset, target: undefined, owner, type, state, message: failure?.message ?? '', since });
    }
    for (const known of datasets)
      for (const lane of ['upload', 'import'] as const) {
        const { dataset, owner } = known;
        if (!isFailed(known, lane) || this.#table.get(lane, dataset) || this.#table.discards.has(`${lane} ${dataset}`))
          continue;
        const message = (lane === 'upload' ? known.upload.message : known.import.messages.join('; ')) ?? '';
        const key = { lane, dataset, target: undefined };
        found.push({ ...key, owner, type: typeOf(known), state: 'failed', message, since: this.#seen(key) });
      }
    for (const { known, install } of installs) {
      const { target, status, messages } = install;
      const key = { lane: laneOf(install), dataset: known.dataset, target };
      if (!isStuck(install) || this.#installs.get(idOf(key))?.install === install) continue;
      const state = status as 'failed-installation' | 'missing-dependency';
      const message = messages.join('; ');
      found.push({ ...key, owner: known.owner, type: typeOf(known), state, message, since: this.#seen(key) });
    }
    return found.map((one) => ({
      ...one,
      id: idOf(one),
      name: this.#catalog.datasets.get(one.dataset)?.metadata.name,
      cause: causeOf(one.message, one.dataset),
    }));
  }

  #install({ lane, dataset, target }: ProblemKey): InstallRecord | undefined {
    const known = this.#catalog.datasets.get(dataset);
    return known?.installs.find((install) => install.target === target && laneOf(install) === lane);
  }

  #seen(key: ProblemKey): Date {
    const id = idOf(key);
    const since = this.#since.get(id) ?? new Date(this.#table.clock.now());
    this.#since.set(id, since);
    return since;
  }
}

const idOf = ({ lane, dataset, target }: ProblemKey): string => [lane, dataset, ...(target ? [target] : [])].join(':');
const microsOf = (moment: Date): string => String(moment.getTime() * 1_000);
const momentAt = (micros: string): Date => new Date(Number(micros) / 1_000);
const orderOf = (since: Date, id: string): string => `${since.toISOString()} ${id}`;
const typeOf = ({ metadata }: FakeDataset): string => typeKey(metadata.type);
const laneOf = ({ kind }: InstallRecord): 'install' | 'updateMeta' => (kind === 'data' ? 'install' : 'updateMeta');
const isStuck = ({ status }: InstallRecord): boolean =>
  status === 'failed-installation' || status === 'missing-dependency';
const isFailed = ({ upload, import: imported }: FakeDataset, lane: LaneName): boolean =>
  (lane === 'upload' && upload.status === 'failed') || (lane === 'import' && imported.status === 'failed');

/** As the database's function `problem_cause`. */
const causeOf = (message: string, dataset: DatasetId): string =>
  message
    .slice(0, 1000)
    .replaceAll(dataset, 'ID')
    .replaceAll(/(^|[\s(:=,[])(["'`])[^"'`]*\2(?=$|[\s).,;:\]])/g, "$1'...'")
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s'"),;]+/g, 'URL')
    .replaceAll(/(?<![\w.])(\/[\w.@%+=~-]+)+\/?/g, 'PATH')
    .replaceAll(/\b(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[\w-]{8,}\b/g, 'ID')
    .replaceAll(/[0-9]+([.,:][0-9]+)*/g, 'N')
    .slice(0, 200);
