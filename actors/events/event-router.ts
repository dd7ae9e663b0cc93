// The event router reads the object store's changes and publishes them to the lanes' channels. It acknowledges a change only
// after all its publishes are durable, so a crash may duplicate events but loses none.

import type { EventLaneName, ObjectChange } from '../../engine/model/event.ts';
import { type DatasetAddress, type ObjectKey, parseKey } from '../../engine/model/object-key.ts';
import type { ChangeQueue, EventLog, EventRecord } from '../../engine/ports/event-log.ts';
import type { JobRequest, Jobs } from '../../engine/ports/jobs.ts';
import { Actor, type ActorOptions } from '../../engine/runtime/actor.ts';
import type { Logger } from '../../engine/runtime/log.ts';

interface LaneChannel {
  readonly channel: string;
  readonly key: string;
}
export type LaneChannels = Readonly<Record<EventLaneName, LaneChannel>>;

interface RouterPorts {
  readonly changes: ChangeQueue;
  readonly events: EventLog;
}

/** Counts changes by outcome. */
type RouterCounter = (result: 'routed' | 'ignored' | 'unknown', changes: number) => void;

/** Runs until the signal aborts. */
export function routeEvents(
  ports: RouterPorts,
  channels: LaneChannels,
  count: RouterCounter,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  return ports.changes.consume(async (changes) => {
    const records: EventRecord[] = [];
    for (const change of changes)
      records.push(...(await recordsOf(change, ports.events, channels, count, log, signal)));
    if (records.length > 0) await ports.events.publish(records, signal);
  }, signal);
}

async function recordsOf(
  change: ObjectChange,
  events: EventLog,
  channels: LaneChannels,
  count: RouterCounter,
  log: Logger,
  signal: AbortSignal,
): Promise<readonly EventRecord[]> {
  const route = routeChange(change);
  switch (route.kind) {
    case 'lanes': {
      count('routed', 1);
      // One event id for all lanes of a change, so that a search for it finds everything that the change caused.
      const eventID = await events.nextEventId(signal);
      const event = { eventID, userID: route.at.owner, datasetID: route.at.dataset, source: 'object-store' } as const;
      return route.lanes.map((lane) => ({ ...channels[lane], event }));
    }
    case 'unknown':
      count('unknown', 1);
      log.warn({ key: change.key }, 'change of an object that does not belong to a known dataset');
      return [];
    case 'ignored':
      count('ignored', 1);
      return [];
    default:
      return route satisfies never;
  }
}

// The event intake turns the messages of the lanes' channels into job rows. It acknowledges a message only after its job row is
// committed. Events for a dataset that already has a job are merged into that row.

/**
 * Runs until the signal aborts. Consumes only the channels of `lanes`: messages for lanes that this process does not run stay
 * in the log.
 */
export function takeEvents(
  events: EventLog,
  jobs: Jobs,
  lanes: readonly EventLaneName[],
  channels: LaneChannels,
  signal: AbortSignal,
): Promise<void> {
  return events.consume(
    lanes.map((lane) => channels[lane]),
    async (records) => {
      const requests: JobRequest[] = [];
      for (const { channel, key, event } of records) {
        const { datasetID: dataset, userID: owner, eventID: eventId, source } = event;
        for (const lane of lanes) {
          const wanted = channels[lane];
          // Compare both: lanes may share a channel.
          if (wanted.key === key && wanted.channel === channel)
            requests.push({ lane, dataset, owner, eventId, source });
        }
      }
      await jobs.enqueue(requests, signal);
    },
    signal,
  );
}

// A child that runs a consumer for as long as it lives: the event router, the event intake, the lease renewer. Its signal
// aborts when it must take nothing new; a batch in progress is then not acknowledged and is delivered again. A consumer that
// other children need until they have ended stops at `stop` instead of `quiet`.

export interface PumpOptions extends ActorOptions {
  /** Runs until the signal aborts, then resolves. */
  readonly consume: (signal: AbortSignal) => Promise<void>;
  /** When the signal aborts. Default: quiet. */
  readonly until?: 'quiet' | 'stop';
}

export class Pump extends Actor {
  readonly #consume: PumpOptions['consume'];
  readonly #until: 'quiet' | 'stop';

  constructor(options: PumpOptions) {
    super(options);
    this.#consume = options.consume;
    this.#until = options.until ?? 'quiet';
  }

  protected override async open(): Promise<void> {}

  protected override work(): Promise<void> {
    return this.#consume(this.#until === 'quiet' ? this.draining : this.stopping);
  }
}

// Which lanes a change of the object store concerns (docs/design/decisions.md#from-a-change-to-a-job). Pure.

type Route =
  | { readonly kind: 'lanes'; readonly at: DatasetAddress; readonly lanes: readonly EventLaneName[] }
  /** Known, and no lane acts on it. */
  | { readonly kind: 'ignored' }
  /** Not recognized: counted and acknowledged. */
  | { readonly kind: 'unknown' };

export function routeChange(change: ObjectChange): Route {
  const key = parseKey(change.key);
  if (key === 'foreign') return { kind: 'ignored' };
  if (key === undefined || key.kind === 'unknown') return { kind: 'unknown' };
  const lanes = change.kind === 'created' ? lanesForCreated(key) : lanesForRemoved(key);
  return lanes.length === 0
    ? { kind: 'ignored' }
    : { kind: 'lanes', at: { owner: key.owner, dataset: key.dataset }, lanes };
}

function lanesForCreated(key: ObjectKey): readonly EventLaneName[] {
  switch (key.kind) {
    case 'share':
      return ['sharing'];
    case 'file':
      return key.folder === 'datasetProperties' ? ['updateMeta'] : [];
    case 'object':
      switch (key.object) {
        case 'vdi-meta.json':
          // Replication may deliver the metadata last, so an import may be waiting for it.
          return ['updateMeta', 'import'];
        case 'import-ready.zip':
          return ['import'];
        case 'install-ready.zip':
          return ['install'];
        case 'delete-flag':
        case 'revised-flag':
          return ['softDelete'];
        case 'vdi-manifest.json':
        case 'upload-error.json':
          return [];
        default:
          return key satisfies never;
      }
    case 'unknown':
      return [];
    default:
      return key satisfies never;
  }
}

function lanesForRemoved(key: ObjectKey): readonly EventLaneName[] {
  if (key.kind === 'file') return key.folder === 'datasetProperties' ? ['updateMeta'] : [];
  if (key.kind === 'share') return ['sharing']; // an offer or receipt was withdrawn
  if (key.kind !== 'object') return [];
  if (key.object === 'delete-flag') return ['reconciliation']; // undelete
  return key.object === 'vdi-meta.json' ? ['hardDelete'] : [];
}
