// Reloads the configuration file at run time.
//   starting   reloads wait until everything runs
//   running    one reload at a time: read, validated as a whole, compared with the running settings, applied where possible
//   ending     rejected, including reloads that wait or read
// Each reload reports the settings that need a restart, until the restart or until the file matches the running settings again.

import { dirname, resolve } from 'node:path';
import { changesBetween, type SettingChange, withChanges } from '../../config/changes.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { LoadResult } from '../../config/load.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { LiveKind } from '../../config/schema-node.ts';
import { formatFault } from '../../config/validate.ts';
import type { LogLevel } from '../../engine/model/log-level.ts';
import type { LevelChange, ProcessSettings, ReloadAnswer, ReloadReport } from '../../engine/ports/process-control.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { Logger, LogThreshold } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';

/** The file that the program was started with. */
export interface SettingsFile<C = Configuration> {
  readonly file: string;
  /** Its complete contents, as written. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Reloads it with the environment of the start. */
  readonly load: () => Promise<LoadResult<C>>;
}

/** Applies the settings of these kinds only. */
export interface SettingsApplier<C = Configuration> {
  apply(kinds: ReadonlySet<LiveKind>, next: C): void;
}

/** Deadline for the file and the files that it names: one may be a pipe without a writer, or on a disk that hangs. */
const READ_MS = 30_000;
const LOG_LEVEL = ['containerCore', 'log', 'level'] as const;

export class Reloading<C = Configuration> implements ProcessSettings {
  readonly #source: SettingsFile<C>;
  readonly #live: SettingsApplier<C>;
  readonly #threshold: LogThreshold;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #started = Promise.withResolvers<void>();
  /** The running settings, in the form of the file. */
  #document: unknown;
  #ended = false;
  #turn: Promise<unknown>;

  constructor(source: SettingsFile<C>, live: SettingsApplier<C>, threshold: LogThreshold, clock: Clock, log: Logger) {
    this.#source = source;
    this.#live = live;
    this.#threshold = threshold;
    this.#clock = clock;
    this.#log = log.child({ actor: 'reloading' });
    this.#document = source.document;
    this.#turn = this.#started.promise;
  }

  /** Call it when everything that applies settings runs. */
  started(): void {
    this.#started.resolve();
  }

  /** From here on nothing is changed. */
  end(): void {
    this.#ended = true;
    this.#started.resolve();
  }

  reload(signal: AbortSignal): Promise<ReloadAnswer> {
    const mine = this.#turn.then(() => this.#reload(signal));
    this.#turn = mine.catch(() => undefined);
    return unlessAborted(mine, signal);
  }

  get logLevel(): LogLevel {
    return this.#threshold.level;
  }

  setLogLevel(level: LogLevel = this.#threshold.next): LevelChange {
    const from = this.#threshold.level;
    const change = { from, to: level };
    this.#tell(change, 'log level changed', () => this.#threshold.set(level));
    return change;
  }

  async #reload(signal: AbortSignal): Promise<ReloadAnswer> {
    this.#refuseAtTheEnd();
    // The caller may have given up while other reloads ran.
    signal.throwIfAborted();
    const { file } = this.#source;
    const loaded = await this.#read();
    this.#refuseAtTheEnd();
    if (!loaded.ok) {
      const faults = loaded.faults.map((fault) => ({ path: fault.path, text: formatFault(fault) }));
      this.#log.error(
        { file, faults: faults.map(({ text }) => text) },
        'the configuration is invalid; nothing was changed',
      );
      return { kind: 'faulty', faults };
    }
    const level = { steps: LOG_LEVEL, to: this.#threshold.level };
    const running = withChanges(this.#document, [level]);
    const { changes, unchanged } = changesBetween(ROOT_SCHEMA, running, loaded.document, dirname(resolve(file)));
    const applied = changes.filter(({ live }) => live !== undefined);
    const report = { ...reportOf(changes), unchanged };
    const kinds = new Set(applied.flatMap(({ live }) => live ?? []));
    this.#tell({ file, ...report }, 'configuration reloaded', () => this.#live.apply(kinds, loaded.configuration));
    for (const warning of loaded.warnings) this.#log.warn({ warning }, 'configuration warning');
    this.#document = withChanges(running, applied);
    return { kind: 'reloaded', report };
  }

  async #read(): Promise<LoadResult<C>> {
    const { file, load } = this.#source;
    const late = (): Error => transient(`${file} and the files that it names were not read within ${READ_MS / 1000} s`);
    using limit = deadline(this.#clock, READ_MS, undefined, late);
    return await unlessAborted(load(), limit.signal);
  }

  /** Logs before or after the change of the log level, whichever level lets the message pass. */
  #tell(fields: object, message: string, change: () => unknown): void {
    const before = this.#log.isLevelEnabled('info');
    if (before) this.#log.info(fields, message);
    change();
    if (!before) this.#log.info(fields, message);
  }

  #refuseAtTheEnd(): void {
    if (this.#ended) throw transient('the process is shutting down: its configuration is not reloaded');
  }
}

/** Shows values of live settings only: others may be secrets. */
const reportOf = (changes: readonly SettingChange[]): Pick<ReloadReport, 'applied' | 'needsRestart'> => ({
  applied: changes.filter(({ live }) => live !== undefined).map(({ path, from, to }) => ({ path, from, to })),
  needsRestart: changes.filter(({ live }) => live === undefined).map(({ path }) => ({ path })),
});
