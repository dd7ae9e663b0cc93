// Rules of `installer` that span keys. Each works on what is there and leaves the rest to the schema.

import type { Cursor } from '../cursor.ts';
import type { Finding, Written } from '../validate.ts';
import { pluginRules } from './plugin-rules.ts';
import { repeatFinding, repeats } from './repeats.ts';
import { targetRules } from './target-rules.ts';

export function installerRules(root: Cursor, written: Written): readonly Finding[] {
  const installer = root.at('installer');
  return [
    ...pluginRules(installer, written),
    ...targetRules(installer, written),
    ...laneRules(installer.at('lanes')),
    ...driverRules(installer),
  ];
}

/** A message must belong to one lane. */
function laneRules(lanes: Cursor): readonly Finding[] {
  const key = (lane: Cursor): string | undefined => {
    const [channel, eventKey] = [lane.at('eventChannel').text, lane.at('eventKey').text];
    return channel === undefined || eventKey === undefined ? undefined : `channel ${channel} with key ${eventKey}`;
  };
  return repeats(
    lanes.entries().map(([, lane]) => lane),
    key,
  ).map((repeat) => repeatFinding(repeat, repeat.key, 'a channel or a key of its own per lane'));
}

/** The directory store writes its changes into the cache DB; an S3 store sends them to a broker. */
function driverRules(installer: Cursor): readonly Finding[] {
  const store = installer.at('objectStore', 'driver').text;
  const queue = installer.at('queueBroker', 'driver');
  const wanted = store === 'directory' ? 'postgres' : store === 's3' ? 'rabbitmq' : undefined;
  if (wanted === undefined || !['postgres', 'rabbitmq'].includes(queue.text ?? '') || queue.text === wanted) return [];
  return [
    {
      path: queue.path,
      found: `${queue.text} beside the object store driver ${store}, which would never report a change there`,
      allowed: `${wanted} with that object store`,
    },
  ];
}
