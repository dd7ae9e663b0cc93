// One call of a lane to the plugin host in the same process: its place, its workspace, its time limit, and its failures, which
// are those of calls over HTTP (engine/adapters/plugins/plugin-http-replies.ts).
//
//   not admitted, no turn, full disk before the call   transient, unreachable: nothing has begun
//   full disk after a failure, exit code 75            transient: a script ran
//   longer than its scripts may take                   transient, at most PLUGIN_FAULT_ATTEMPTS attempts
//   request refused                                    defect: the lanes send only what they have checked
//   the object changed, or the store failed            the failure of the store
//   anything else that the host throws                 server-error

import { newTraceparent, traceIdOf } from '../../engine/model/traceparent.ts';
import {
  type CallOutcome,
  type Imported,
  LATER,
  PLUGIN_FAULT_ATTEMPTS,
  type PluginCall,
} from '../../engine/ports/plugin-client.ts';
import type { DiskRoom } from '../../engine/ports/storage-room.ts';
import {
  aborted,
  Busy,
  defect,
  Failure,
  hasNoRoom,
  kindOf,
  type Lack,
  messageOf,
  transient,
} from '../../engine/runtime/failure.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { type Clock, deadline } from '../../engine/runtime/time.ts';
import { unlessAborted } from '../../engine/runtime/wait.ts';
import type { LaneTasks } from '../tasks/task-map.ts';
import type { CallsInProgress } from './calls-in-progress.ts';
import type { ObjectPayload } from './object-payload.ts';
import type { PluginHost } from './plugin-host.ts';
import type { Workspace } from './workspace.ts';

/** The tasks that call a plugin. */
export type CallName = Exclude<keyof LaneTasks, 'fetch-upload' | 'pack-upload'>;

export interface LocalCallOptions {
  readonly host: PluginHost;
  /** Absent: free disk space is not checked. */
  readonly room?: DiskRoom | undefined;
  /** Maximum duration of a call, without the time that it takes to fetch its payload. */
  readonly limitMs: (plugin: string, call: CallName) => number;
  /** Gets every call. */
  readonly calls: CallsInProgress;
  readonly clock: Clock;
  readonly log: Logger;
}

/** They free space, so they are served although a disk is full. */
const WITHOUT_ROOM: ReadonlySet<CallName> = new Set(['uninstall', 'uninstall-files']);

type Outcome = CallOutcome | Imported;
export type Served = Exclude<Outcome, { kind: 'later' }>;

export class LocalCall {
  /** Begins the messages of its failures. */
  readonly where: string;
  readonly #name: CallName;
  readonly #plugin: string;
  readonly #options: LocalCallOptions;
  readonly #signal: AbortSignal;
  readonly #log: Logger;
  /** Set when the call took too long. */
  #late: Failure | undefined;

  constructor(
    name: CallName,
    input: PluginCall & { readonly plugin: string },
    options: LocalCallOptions,
    signal: AbortSignal,
  ) {
    this.#name = name;
    this.#plugin = input.plugin;
    this.#options = options;
    this.#signal = signal;
    this.where = `plugin ${input.plugin}, ${name}`;
    this.#log = options.log.child({ trace: traceIdOf(input.traceparent ?? newTraceparent()) });
  }

  /**
   * An abort rejects at once, while the script is still being ended.
   * @param objects that `act` reads: if one of them, or its store, is at fault, that is the call's failure
   */
  async serve(act: (workspace: Workspace) => Promise<Outcome>, ...objects: readonly ObjectPayload[]): Promise<Served> {
    try {
      this.#signal.throwIfAborted();
      return await unlessAborted(this.#options.calls.add(this.#serve(act, objects)), this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) throw error instanceof Busy ? this.#notServed(error.message, error) : error;
      const { reason } = this.#signal;
      throw reason instanceof Failure ? reason : aborted(`${this.where}: ${messageOf(reason)}`, { cause: reason });
    }
  }

  async #serve(act: (workspace: Workspace) => Promise<Outcome>, objects: readonly ObjectPayload[]): Promise<Served> {
    const { host, room } = this.#options;
    const full = WITHOUT_ROOM.has(this.#name) ? undefined : await room?.lack();
    if (full !== undefined) throw this.#notServed(full, undefined, 'room');
    using _place = host.admit();
    const outcome = await this.#inWorkspace(act).catch((error: unknown) => this.#thrown(error, objects));
    if (outcome.kind === 'later')
      throw transient(`${this.where}: ${outcome.message}`, { script: { exitCode: LATER, output: outcome.output } });
    // What fails while a disk is full fails because of the disk, whatever a script says of its data.
    const lack = isFailure(outcome) ? await room?.lack() : undefined;
    if (lack !== undefined) throw transient(`${this.where}: ${lack}`, { lack: 'room' });
    return outcome;
  }

  /** Ends the host's work when it takes too long. */
  async limited(work: (until: AbortSignal) => Promise<Outcome>): Promise<Outcome> {
    const { limitMs, clock } = this.#options;
    const ms = limitMs(this.#plugin, this.#name);
    const message = `${this.where}: timeout, no end within ${ms} ms`;
    using limit = deadline(clock, ms, this.#signal, () => {
      this.#late = transient(message, { maxAttempts: PLUGIN_FAULT_ATTEMPTS });
      return this.#late;
    });
    return await work(limit.signal);
  }

  async #inWorkspace(act: (workspace: Workspace) => Promise<Outcome>): Promise<Outcome> {
    const workspace = await this.#options.host.workspace(this.#log).catch((error: unknown) => {
      if (hasNoRoom(error)) throw this.#notServed(messageOf(error), error);
      throw error;
    });
    try {
      return await act(workspace);
    } finally {
      // The call is over all the same. The next start removes what is left.
      await workspace[Symbol.asyncDispose]().catch((err: unknown) =>
        this.#log.warn({ err, plugin: this.#plugin }, 'the workspace of a plugin call could not be removed'),
      );
    }
  }

  /** The outcome that a caller over HTTP would get. */
  async #thrown(error: unknown, objects: readonly ObjectPayload[]): Promise<CallOutcome> {
    if (this.#signal.aborted || error instanceof Busy) throw error;
    // Whatever it failed with because it was ended.
    if (this.#late) throw this.#late;
    for (const object of objects) await object.throwFault(this.#signal);
    if (kindOf(error) === 'rejected')
      throw defect(`${this.where}: the plugin host refused the call: ${messageOf(error)}`, { cause: error });
    if (hasNoRoom(error)) throw transient(`${this.where}: ${messageOf(error)}`, { cause: error });
    this.#log.error({ err: error, plugin: this.#plugin }, 'plugin call failed');
    return { kind: 'server-error', message: messageOf(error) };
  }

  #notServed(why: string, cause?: unknown, lack?: Lack): Failure {
    return transient(`${this.where}: ${why}`, { unreachable: true, unanswered: true, cause, lack });
  }
}

const isFailure = ({ kind }: Outcome): boolean => kind !== 'done' && kind !== 'valid' && kind !== 'imported';
