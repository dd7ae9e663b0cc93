// Handler jobs in memory, shared by several "processes".

import { HANDLER_MOVES, type HandlerState, isRunning } from '../../engine/model/handler-job.ts';
import {
  type DueHandlerJob,
  type HandlerJob,
  type HandlerJobs,
  type HandlerMove,
  type HandlerStatistics,
  NO_COUNTS,
  sumOf,
} from '../../engine/ports/handler-jobs.ts';

interface Row {
  job: HandlerJob;
  replaced: boolean;
  holder: number | undefined;
  expires: Date | undefined;
}

/** What all processes see. */
export class HandlerTable {
  readonly rows = new Map<string, Row>();
  readonly dead = new Set<number>();
}

export class FakeHandlerJobs implements HandlerJobs {
  readonly #table: HandlerTable;
  readonly #process: number;
  /** Called after each move was written; throws what the call should fail with. */
  onMoved: (to: HandlerState) => void = () => {};

  constructor(table = new HandlerTable(), process = 1) {
    this.#table = table;
    this.#process = process;
  }

  register: HandlerJobs['register'] = async (job, signal) => {
    signal.throwIfAborted();
    const before = [...this.#table.rows.values()].find((row) => row.job.jobId === job.jobId && !row.replaced);
    if (before && before.holder !== undefined) return false;
    if (before) {
      before.replaced = true;
      if (before.expires === undefined || before.expires > job.created) before.expires = job.created;
    }
    const { expires, ...rest } = job;
    const nothing = { started: undefined, ended: undefined, size: 0, result: undefined, message: undefined };
    const row: Row = { job: { ...rest, ...nothing, state: 'awaiting' }, replaced: false, holder: undefined, expires };
    this.#table.rows.set(job.id, row);
    return true;
  };

  find: HandlerJobs['find'] = async (jobId, now, signal) => {
    signal.throwIfAborted();
    const row = [...this.#table.rows.values()].find((one) => one.job.jobId === jobId && !one.replaced);
    return row && (row.expires === undefined || row.expires > now) ? row.job : undefined;
  };

  move: HandlerJobs['move'] = async (id, move, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    const from: readonly HandlerState[] = HANDLER_MOVES[move.to];
    if (!row || !from.includes(row.job.state)) return false;
    if (row.holder === undefined ? row.replaced : row.holder !== this.#process) return false;
    apply(row, move);
    row.holder = isRunning(move.to) ? this.#process : undefined;
    this.onMoved(move.to);
    return true;
  };

  failOrphans: HandlerJobs['failOrphans'] = async (end, signal) => {
    signal.throwIfAborted();
    const orphans = [...this.#table.rows].filter(
      ([, row]) => row.holder !== undefined && this.#table.dead.has(row.holder),
    );
    for (const [, row] of orphans) {
      apply(row, { to: 'failed', ...end });
      row.holder = undefined;
    }
    return orphans.map(([id]) => id);
  };

  kept: HandlerJobs['kept'] = async (owner, signal) => {
    signal.throwIfAborted();
    const results = [...this.#table.rows.values()].flatMap(({ job }) =>
      job.registration.owner === owner && job.result ? [job.result] : [],
    );
    const [nextExpiry] = results.map(({ expires }) => expires).sort((a, b) => a.getTime() - b.getTime());
    return { bytes: results.reduce((sum, { bytes }) => sum + bytes, 0), nextExpiry };
  };

  due: HandlerJobs['due'] = async (now, limit, signal) => {
    signal.throwIfAborted();
    const found = [...this.#table.rows].flatMap(([id, { expires, job }]): (DueHandlerJob & { at: Date })[] => {
      const times = [expires, job.result?.expires].filter((time) => time !== undefined);
      const at = times.sort((a, b) => a.getTime() - b.getTime())[0];
      if (at === undefined || at > now) return [];
      return [{ id, what: expires !== undefined && expires <= now ? 'job' : 'result', at }];
    });
    return found
      .sort((a, b) => a.at.getTime() - b.at.getTime() || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id, what }) => ({ id, what }));
  };

  forget: HandlerJobs['forget'] = async ({ id, what }, signal) => {
    signal.throwIfAborted();
    const row = this.#table.rows.get(id);
    if (!row) return;
    if (what === 'result') row.job = { ...row.job, result: undefined };
    else if (row.holder === undefined) this.#table.rows.delete(id);
  };
}

function apply(row: Row, { to: state, ...change }: HandlerMove): void {
  const { expires, ...told } = { expires: undefined, ...change };
  const cleared = {
    ...(state === 'uploading' ? { message: undefined } : {}),
    ...(state === 'awaiting' ? { started: undefined, size: 0 } : {}),
  };
  row.expires = expires;
  row.job = { ...row.job, ...cleared, ...told, state };
}

export class FakeHandlerStatistics implements HandlerStatistics {
  #counts = NO_COUNTS;
  /** Thrown by every call, when set. */
  fault: Error | undefined;

  add: HandlerStatistics['add'] = async (counts, signal) => {
    signal.throwIfAborted();
    if (this.fault) throw this.fault;
    this.#counts = sumOf(this.#counts, counts);
  };

  read: HandlerStatistics['read'] = async (signal) => {
    signal.throwIfAborted();
    if (this.fault) throw this.fault;
    return this.#counts;
  };
}
