// Puts the ports of one process behind the scheduler.

import { Readable } from 'node:stream';
import type { DatasetId, TargetId } from '../../engine/model/ids.ts';
import type { ObjectInfo } from '../../engine/ports/object-store.ts';
import { transient } from '../../engine/runtime/failure.ts';
import { inPages } from '../fakes/fake-object-store.ts';
import type { Call, Nature } from './scheduler.ts';
import type { SimProcess } from './sim-process.ts';
import type { TaskParts } from './sim-tasks.ts';
import type { World } from './world.ts';

/** Methods that change nothing. */
const READS =
  /^(find|findWithAttempts|isReceiving|source|get|head|state|attempts|usage|view|files|page|retired|forgotten|load|list|probe|read|acquireable)$/;
/** What waits for a dataset's row. */
const ROW_WRITES = /^catalog\.(write|beginImport|register|remove)$/;
/** Methods of the store whose first parameter is a list. */
const IN_PARTS = new Set(['putAll', 'remove', 'discard']);
const never = new AbortController().signal;

type Method = (...args: unknown[]) => unknown;

export class Gate {
  readonly #process: SimProcess;
  readonly #world: World;

  constructor(process: SimProcess, world: World) {
    this.#process = process;
    this.#world = world;
  }

  /** The port, each of its calls a step of its own. */
  wrap<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== 'function' || typeof property !== 'string') return member;
        const call: Method = (...args) => Reflect.apply(member, target, args);
        if (property === 'list') return (...args: unknown[]) => this.#listing(name, call, args);
        if (property === 'pages') {
          const list: Method = (...args) => Reflect.apply(Reflect.get(target, 'list') as Method, target, args);
          return (...args: unknown[]) => inPages(this.#listing(name, list, args));
        }
        return (...args: unknown[]) => this.#call(name, property, call, args, Reflect.get(target, 'id'));
      },
    });
  }

  /** The port, whose batches are handed over and acknowledged in steps of their own. */
  wrapConsumer<Port extends { consume: (...args: never[]) => Promise<void> }>(name: string, port: Port): Port {
    const gated = this.wrap(name, port);
    const consume = (...args: unknown[]): unknown => {
      const signal = args.at(-1) as AbortSignal;
      const handle = args.at(-2) as (rows: readonly unknown[]) => Promise<void>;
      const handleInSteps = async (rows: readonly unknown[]): Promise<void> => {
        const about = `${rows.length} rows`;
        await this.pass({ name: `${name}.deliver`, about, nature: 'deliver', signal, act: async () => {} });
        if (name === 'changes' && this.#world.bug === 'lost-ack') handle(rows).catch(() => {});
        else await handle(rows);
        await this.pass({ name: `${name}.acknowledge`, about, nature: 'acknowledge', signal, act: async () => {} });
      };
      return Reflect.apply(port.consume, port, [...args.slice(0, -2), handleInSteps, signal]);
    };
    return new Proxy(gated, {
      get: (target, property) => (property === 'consume' ? consume : Reflect.get(target, property)),
    });
  }

  /** What tasks need of the process besides its ports. */
  taskParts(): Pick<TaskParts, 'thread' | 'call'> {
    const { plugin, scheduler } = this.#world;
    return {
      thread: async (task, dataset, signal) => {
        const poisoned = task === 'import-dataset' && plugin.isPoison(dataset);
        const act = async (): Promise<void> => {
          if (poisoned) throw scheduler.threadDeath(`thread.${task}`);
        };
        await this.pass({ name: `thread.${task}`, about: dataset, nature: 'task', signal, act });
      },
      call: (name, { dataset, target }, act, signal) =>
        this.pass({
          name: `plugin.${name}`,
          about: `${dataset} ${target ?? ''}`,
          nature: 'plugin',
          signal,
          act: async () => {
            this.#refuseStale(name, dataset);
            if (name === 'uninstall' && this.#world.skipsUninstall(dataset, target))
              return { kind: 'success' } as never;
            if (name === 'uninstallFiles' && this.#world.bug === 'taken-rows')
              plugin.uninstall(dataset, target as TargetId);
            return act();
          },
          ...(name === 'installData' && target
            ? { actPartly: async () => plugin.beginInstall(dataset, target as TargetId) }
            : {}),
        }),
    };
  }

  pass<Result>(call: Omit<Call, 'caller' | 'act'> & { readonly act: () => Promise<Result> }): Promise<Result> {
    return this.#world.scheduler.pass({ ...call, caller: this.#process });
  }

  #call(port: string, method: string, call: Method, args: readonly unknown[], ofTarget: unknown): Promise<unknown> {
    const last = args.at(-1);
    const signal = last instanceof AbortSignal ? last : undefined;
    const own = signal ? [...args.slice(0, -1), never] : args;
    const nature: Nature = READS.test(method) ? 'read' : 'write';
    const act = (): Promise<unknown> => this.#world.fences.watch(port, method, own, async () => call(...own));
    const passed = this.pass({
      name: `${port}.${method}`,
      about: port === 'target' ? `${datasetOf(args[0])} ${ofTarget} ${aboutOf(args.slice(1))}` : aboutOf(args),
      nature,
      signal,
      row: ROW_WRITES.test(`${port}.${method}`) ? String(datasetOf(args[0])) : undefined,
      act,
      actPartly: partOf(port, method, call, own, this.#world),
    });
    for (const source of sourcesOf(args)) passed.catch(() => source.destroy());
    return passed;
  }

  /** Begins with a step, and may take another one or break off before each object. */
  async *#listing(port: string, call: Method, args: readonly unknown[]): AsyncGenerator<ObjectInfo> {
    const { scheduler } = this.#world;
    const about = aboutOf(args);
    const signal = args.at(-1) as AbortSignal;
    const step = { name: `${port}.list`, about, nature: 'read', signal, act: async () => {} } as const;
    await this.pass(step);
    const breaksOff = scheduler.random.chance(scheduler.weather['cut short']);
    for await (const info of call(...args.slice(0, -1), never) as AsyncIterable<ObjectInfo>) {
      if (breaksOff && scheduler.random.chance(0.3)) {
        scheduler.count('cut short');
        throw transient(`${port}.list ${about} broke off`);
      }
      if (scheduler.random.chance(0.1)) await this.pass(step);
      yield info;
    }
  }

  /**
   * A plugin knows of no leases: what keeps two processes from working with it on one dataset is that a process whose
   * lease runs out, or may have while it stood still, stops its calls before.
   */
  #refuseStale(name: string, dataset: DatasetId): void {
    const { leases, violate } = this.#world;
    if (leases.holderOf(dataset) === this.#process.id) return;
    violate(`process ${this.#process.id} calls plugin.${name} for ${dataset} without its lease`);
  }
}

/** Streams of a put of one object or of several. */
function sourcesOf(args: readonly unknown[]): readonly Readable[] {
  const [objects] = args;
  const sources = Array.isArray(objects) ? objects.map((object: { source?: unknown } | null) => object?.source) : args;
  return sources.filter((source) => source instanceof Readable);
}

/** Only what comes in parts has any: puts and removals of several objects. */
function partOf(
  port: string,
  method: string,
  call: Method,
  args: readonly unknown[],
  { scheduler }: World,
): (() => Promise<unknown>) | undefined {
  const [parts] = args;
  if (port !== 'store' || !IN_PARTS.has(method) || !Array.isArray(parts) || parts.length < 2) return undefined;
  return async () => call(parts.slice(0, scheduler.random.between(1, parts.length - 1)), ...args.slice(1));
}

const datasetOf = (arg: unknown): unknown =>
  typeof arg === 'object' && arg !== null && 'dataset' in arg ? arg.dataset : arg;

function aboutOf(args: readonly unknown[]): string {
  return args.map(wordOf).filter(Boolean).join(' ');
}

function wordOf(arg: unknown): string {
  if (typeof arg === 'string') return arg;
  if (typeof arg === 'number' || typeof arg === 'boolean') return String(arg);
  if (Array.isArray(arg)) return `[${arg.map(wordOf).join(' ')}]`;
  if (typeof arg !== 'object' || arg === null || arg instanceof AbortSignal) return '';
  if (arg instanceof Uint8Array) return `${arg.length}B`;
  const {
    set,
    status,
    state,
    kind,
    lane,
    dataset,
    name,
    key,
    token,
    outcome,
    job,
    target,
    started,
    over,
    event,
    channel,
  } = arg as Readonly<Record<string, unknown>>;
  return [set, kind, lane, channel, dataset, name, key, token, target, status, state, started, over]
    .filter((word) => ['string', 'number', 'boolean'].includes(typeof word))
    .concat([outcome, job, event].filter((part) => part !== undefined).map(wordOf))
    .join('/');
}
