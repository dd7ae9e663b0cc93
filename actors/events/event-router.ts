// The event router reads the object store's changes and publishes them to the lanes' channels. It acknowledges a change only
// after all its publishes are durable, so a crash may duplicate events but loses none.

import type { EventLaneName, ObjectChange } from '../../engine/model/event.ts';
import type { ChangeQueue, EventLog, EventRecord } from '../../engine/ports/event-log.ts';
import type { Logger } from '../../engine/runtime/log.ts';
import { routeChange } from './routing.ts';

export interface LaneChannel {
  readonly channel: string;
  readonly key: string;
}
export type LaneChannels = Readonly<Record<EventLaneName, LaneChannel>>;

export interface RouterPorts {
  readonly changes: ChangeQueue;
  readonly events: EventLog;
}

/** Counts changes by outcome. */
export type RouterCounter = (result: 'routed' | 'ignored' | 'unknown', changes: number) => void;

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
