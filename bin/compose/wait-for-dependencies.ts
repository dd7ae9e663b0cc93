// Waits at startup for the vital dependencies: all concurrently, with progress in the log, for a limited time.
//
//   attempt --success-->             available
//   attempt --`transient` failure--> missing (logged the first time), retried with back-off
//   attempt --any other failure-->   the wait fails with it: waiting would not help
//   missing --deadline-->            the wait fails with one failure that names everything that is missing, and why

import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Configuration } from '../../config/configuration.ts';
import type { PostgresOptions } from '../../engine/adapters/postgres/postgres.ts';
import { withConnection } from '../../engine/adapters/postgres/single-connection.ts';
import { Failure, kindOf, messageOf, transient } from '../../engine/runtime/failure.ts';
import { JoinedSignal } from '../../engine/runtime/joined-signal.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { DELAYS, persisting } from '../../engine/runtime/retry.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { accessConnection } from './access-database.ts';
import { cacheConnection, reportConnection } from './databases.ts';
import { storeData } from './store-reader.ts';

export interface Dependency {
  /** Unique among the dependencies. */
  readonly name: string;
  /** Resolves when the dependency can be used. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
}

interface WaitParts {
  /** For all of them together. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Of one try: a server that accepts connections and says nothing is tried anew. */
const TRY_MS = 10_000;
const PROGRESS_MS = 10_000;

/** @throws Failure `transient` and unreachable, naming every missing dependency; or the signal's reason, at once */
export async function waitForDependencies(
  dependencies: readonly Dependency[],
  parts: WaitParts,
  signal: AbortSignal,
): Promise<void> {
  await new DependencyWait(dependencies, parts).run(signal);
}

class DependencyWait {
  readonly #parts: WaitParts;
  readonly #began: number;
  /** Dependencies without success so far, with the reason. */
  readonly #missing: Map<Dependency, string>;

  constructor(dependencies: readonly Dependency[], parts: WaitParts) {
    this.#parts = parts;
    this.#began = parts.clock.now();
    this.#missing = new Map(dependencies.map((one) => [one, 'no response yet']));
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, waitMs } = this.#parts;
    using limit = deadline(clock, waitMs, signal, () => this.#late());
    // Stop waiting for the others once one has failed permanently.
    using until = new JoinedSignal(limit.signal);
    const waits = [...this.#missing.keys()].map((one) => this.#waitFor(one, until.signal));
    const progress = this.#sayProgress(until.signal);
    try {
      await Promise.all(waits);
    } finally {
      until.abort(new Error('the wait is over'));
      await Promise.allSettled([...waits, progress]);
    }
  }

  async #waitFor(dependency: Dependency, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    let failures = 0;
    const failed = (error: unknown): void => {
      if (kindOf(error) !== 'transient') throw error;
      const reason = messageOf(error);
      this.#missing.set(dependency, reason);
      if (failures++ === 0) log.warn({ dependency: dependency.name, reason }, 'a dependency is unavailable; waiting');
    };
    const attempt = (): Promise<boolean> => this.#attempt(dependency, signal).then(() => true);
    if (!(await persisting(DELAYS.start, clock, attempt, failed, signal))) throw signal.reason;
    this.#missing.delete(dependency);
    const waitedMs = clock.now() - this.#began;
    if (failures > 0) log.info({ dependency: dependency.name, waitedMs }, 'a dependency is available now');
  }

  async #attempt({ probe }: Dependency, signal: AbortSignal): Promise<void> {
    const late = (): Error => transient(`no response within ${TRY_MS / 1000} s`, { unreachable: true });
    using limit = deadline(this.#parts.clock, TRY_MS, signal, late);
    await unlessAborted(probe(limit.signal), limit.signal);
  }

  /** Runs until the signal aborts; never rejects otherwise. */
  async #sayProgress(signal: AbortSignal): Promise<void> {
    const { clock, log, waitMs } = this.#parts;
    for (;;) {
      await clock.sleep(PROGRESS_MS, signal);
      const secondsLeft = Math.round((this.#began + waitMs - clock.now()) / 1000);
      log.warn({ missing: this.#reasons(), secondsLeft }, 'still waiting for dependencies');
    }
  }

  #reasons(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#missing].map(([{ name }, reason]) => [name, reason]));
  }

  #late(): Error {
    const missing = [...this.#missing].map(([{ name }, reason]) => `${name} (${reason})`);
    const text = `waited ${this.#parts.waitMs / 1000} s without success for: ${missing.join('; ')}`;
    return new Failure('transient', text, { unreachable: true });
  }
}

// The dependencies that a service cannot work without, so it waits for them at startup. While any other dependency is
// unavailable, only the work that needs it waits.

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
}

/** @throws ConfigurationError when a section is invalid */
export function vitalDependencies(
  { installer, access: accessSection, report }: Pick<Configuration, 'installer' | 'access' | 'report'>,
  parts: Parts,
): readonly Dependency[] {
  return [
    { name: 'cache database', probe: reach(cacheConnection(installer.cacheDb)) },
    { name: 'object store', probe: storeProbe(installer.objectStore, parts) },
    // A service without its own database uses a schema of the cache database.
    ...(accessSection?.db
      ? [{ name: 'access database', probe: reach(accessConnection({ access: accessSection, installer })) }]
      : []),
    ...(report?.db ? [{ name: 'report database', probe: reach(reportConnection({ report, installer })) }] : []),
  ];
}

const reach = (options: PostgresOptions): Dependency['probe'] =>
  async function probe(signal) {
    await withConnection(options, (sql) => sql.query('select 1'), signal);
  };

function storeProbe(section: Configuration['installer']['objectStore'], parts: Parts): Dependency['probe'] {
  const data = storeData(section);
  if (data.driver === 'directory') return () => writable(data.path);
  return async (signal) => {
    const { S3Store } = await import('../../engine/adapters/s3/s3-store.ts');
    using store = new S3Store(data.options, parts);
    await store.probe(signal);
  };
}

/** Transient, because a file system that is not mounted or is read-only may be fixed later. */
async function writable(path: string): Promise<void> {
  try {
    await mkdir(join(path, 'objects'), { recursive: true, mode: 0o750 });
    await access(join(path, 'objects'), constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw transient(`object store ${path}: ${messageOf(error)}`, { cause: error, unreachable: true });
  }
}
