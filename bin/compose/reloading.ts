// Reloads the configuration file at run time.
//   starting   reloads wait until everything runs
//   running    one reload at a time: read, validated as a whole, compared with the running settings, applied where possible;
//              log level and sizes of lanes may be set in between, which the next reload takes back
//   ending     rejected, including reloads that wait or read
// Each reload reports the settings that need a restart, until the restart or until the file matches the running settings again.

import { dirname, resolve } from 'node:path';
import { changesBetween, type SettingChange, withChanges } from '../../config/changes.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { LoadResult } from '../../config/load.ts';
import { displayPath, valueAt } from '../../config/path.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import type { LiveKind } from '../../config/schema-node.ts';
import { shownSettings } from '../../config/shown-settings.ts';
import { formatFault } from '../../config/validate.ts';
import type { LogLevel } from '../../engine/model/log-level.ts';
import type {
  LaneSizes,
  LevelChange,
  ProcessSettings,
  ReloadAnswer,
  ReloadReport,
  RunningConfiguration,
  SizingAnswer,
} from '../../engine/ports/process-control.ts';
import { transient } from '../../engine/runtime/failure.ts';
import type { Logger, LogThreshold } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import { LANE_BOUNDS, sizing } from './lane-sizes.ts';

/** The file that the program was started with. */
export interface SettingsFile<C = Configuration> {
  readonly file: string;
  /** Its complete contents, as written. */
  readonly document: Readonly<Record<string, unknown>>;
  /** Reloads it with the environment of the start. */
  readonly load: () => Promise<LoadResult<C>>;
  /** The configuration of a document that differs from a loaded one in live settings only. */
  readonly finish: (document: unknown) => C;
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
  /** The running settings without the log level, in the form of the file. */
  #document: unknown;
  /** Paths of the sizes that operators have set since. */
  readonly #ordered = new Set<string>();
  #generation = 1;
  #readAt: number;
  #ended = false;
  #turn: Promise<unknown>;

  constructor(source: SettingsFile<C>, live: SettingsApplier<C>, threshold: LogThreshold, clock: Clock, log: Logger) {
    this.#source = source;
    this.#live = live;
    this.#threshold = threshold;
    this.#clock = clock;
    this.#log = log.child({ actor: 'reloading' });
    this.#document = source.document;
    this.#readAt = clock.now();
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
    return this.#inTurn(() => this.#reload(signal), signal);
  }

  compare(signal: AbortSignal): Promise<ReloadAnswer> {
    return this.#inTurn(async () => {
      const read = await this.#readAndCompare(signal);
      return read.kind === 'faulty' ? read : { kind: 'reloaded', report: read.report };
    }, signal);
  }

  running(): RunningConfiguration {
    const isOrdered = (path: string): boolean =>
      this.#ordered.has(path) || (path === LOG_LEVEL.join('.') && this.#hasOtherLevel());
    return {
      file: this.#source.file,
      generation: this.#generation,
      readAt: new Date(this.#readAt),
      settings: shownSettings(this.#running()).map((setting) => ({ ...setting, isOrdered: isOrdered(setting.path) })),
    };
  }

  sizeLane(lane: string, sizes: LaneSizes): SizingAnswer {
    this.#refuseAtTheEnd();
    const sized = sizing(this.#document, lane, sizes);
    if (sized.kind !== 'sized') return sized;
    const applied = sized.changes.map(({ steps, from, to }) => ({ path: displayPath(steps), from, to }));
    if (applied.length === 0) return { kind: 'sized', applied };
    this.#document = withChanges(this.#document, sized.changes);
    this.#live.apply(new Set([LANE_BOUNDS]), this.#source.finish(this.#document));
    for (const { path } of applied) this.#ordered.add(path);
    this.#log.info({ lane, applied }, 'sizes of a lane changed');
    return { kind: 'sized', applied };
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

  #inTurn(work: () => Promise<ReloadAnswer>, signal: AbortSignal): Promise<ReloadAnswer> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return unlessAborted(mine, signal);
  }

  async #reload(signal: AbortSignal): Promise<ReloadAnswer> {
    const { file } = this.#source;
    const read = await this.#readAndCompare(signal);
    if (read.kind === 'faulty') {
      const faults = read.faults.map(({ text }) => text);
      this.#log.error({ file, faults }, 'the configuration is invalid; nothing was changed');
      return read;
    }
    const { running, applied, report, loaded } = read;
    const kinds = new Set(applied.flatMap(({ live }) => live ?? []));
    this.#tell({ file, ...report }, 'configuration reloaded', () => this.#live.apply(kinds, loaded.configuration));
    for (const warning of loaded.warnings) this.#log.warn({ warning }, 'configuration warning');
    this.#document = withChanges(running, applied);
    this.#ordered.clear();
    this.#generation++;
    this.#readAt = this.#clock.now();
    return { kind: 'reloaded', report };
  }

  async #readAndCompare(signal: AbortSignal) {
    this.#refuseAtTheEnd();
    // The caller may have given up while other reloads ran.
    signal.throwIfAborted();
    const loaded = await this.#read();
    this.#refuseAtTheEnd();
    if (!loaded.ok) {
      const faults = loaded.faults.map((fault) => ({ path: fault.path, text: formatFault(fault) }));
      return { kind: 'faulty', faults } as const;
    }
    const running = this.#running();
    const dir = dirname(resolve(this.#source.file));
    const { changes, unchanged } = changesBetween(ROOT_SCHEMA, running, loaded.document, dir);
    const applied = changes.filter(({ live }) => live !== undefined);
    return { kind: 'differs', running, applied, report: { ...reportOf(changes), unchanged }, loaded } as const;
  }

  #running(): unknown {
    return withChanges(this.#document, [{ steps: LOG_LEVEL, to: this.#threshold.level }]);
  }

  #hasOtherLevel(): boolean {
    return valueAt(this.#document, LOG_LEVEL) !== this.#threshold.level;
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
