// The event of a message that is spelled as we spell it (kafka-message.ts): members in our order, numbers without sign or
// exponent, no escapes. A pattern reads it in less than half the time of a parser that keeps long integers, which is what
// bounds how fast a channel is read. Of anything else it says nothing: what it is, the parser has to find out.

import { EVENT_SOURCES, type EventSource, type TriggerEvent } from '../../model/event.ts';
import { parseDatasetId, type UserId } from '../../model/ids.ts';

/** Members of others may follow, ASCII text or whole numbers, as long as they take the place of none of ours. */
const PLAIN =
  /^\{"eventID":(0|[1-9]\d{0,14}),"userID":([1-9]\d{0,17}),"datasetID":"([\w.-]{1,64})","source":"([a-z-]+)"(?:,"(?!(?:eventID|userID|datasetID|source)")[A-Za-z]\w*":(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14}))*\}$/;
const SOURCES: ReadonlyMap<string, EventSource> = new Map(EVENT_SOURCES.map((source) => [source, source]));

/** Undefined when it is spelled in another way. */
export function plainEvent(value: Buffer): TriggerEvent | undefined {
  // The pattern lets nothing but ASCII pass, in which all encodings are alike.
  const match = PLAIN.exec(value.toString('latin1'));
  const source = match ? SOURCES.get(match[4] as string) : undefined;
  const datasetID = parseDatasetId(match?.[3] ?? '');
  if (!match || !datasetID || source === undefined) return undefined;
  return { eventID: Number(match[1]), userID: match[2] as UserId, datasetID, source };
}
