// An event as a Kafka record: the record's key is the lane's event key, its value `{eventID, userID, datasetID, source}` as
// JSON. The user id is a JSON number with all its digits.

import { EVENT_SOURCES, type EventSource, type TriggerEvent } from '../../model/event.ts';
import { parseDatasetId, parseUserId } from '../../model/ids.ts';
import { parseJson, stringifyJson } from '../../model/json.ts';
import { decodeDocument } from '../../model/utf8.ts';
import { plainEvent } from '../events/plain-event.ts';

export const encodeEvent = ({ eventID, userID, datasetID, source }: TriggerEvent): string =>
  stringifyJson({ eventID, userID, datasetID, source });

/** Undefined when the value is not an event. */
export function decodeEvent(value: Buffer | null): TriggerEvent | undefined {
  return value === null ? undefined : (plainEvent(value) ?? parsedEvent(value));
}

/** Parses any JSON spelling of an event. */
export function parsedEvent(value: Buffer): TriggerEvent | undefined {
  const found = parsed(value);
  if (typeof found !== 'object' || found === null) return undefined;
  const { eventID, userID: user, datasetID: dataset, source } = found as Record<string, unknown>;
  const userID = typeof user === 'string' ? parseUserId(user) : undefined;
  const datasetID = typeof dataset === 'string' ? parseDatasetId(dataset) : undefined;
  if (!isEventId(eventID) || userID === undefined || datasetID === undefined || !isSource(source)) return undefined;
  return { eventID, userID, datasetID, source };
}

function parsed(value: Buffer): unknown {
  try {
    return parseJson(decodeDocument(value) ?? '');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isEventId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isSource = (value: unknown): value is EventSource => EVENT_SOURCES.includes(value as EventSource);
