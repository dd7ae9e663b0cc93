// The event intake turns the messages of the lanes' channels into job rows. It acknowledges a message only after its job row is
// committed. Events for a dataset that already has a job are merged into that row.

import type { EventLaneName } from '../../engine/model/event.ts';
import type { EventLog } from '../../engine/ports/event-log.ts';
import type { JobRequest, Jobs } from '../../engine/ports/jobs.ts';
import type { LaneChannels } from './event-router.ts';

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
