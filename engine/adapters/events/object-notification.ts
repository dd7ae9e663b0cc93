// Parses notifications of S3 servers, as messages of a broker: one JSON document with `Records`. MinIO, AWS and Ceph differ
// only in the prefix of event names and in the encoding of keys.

import type { ObjectChange } from '../../model/event.ts';
import { decodeDocument } from '../../model/utf8.ts';

export type Notification =
  /** `ignored` counts records of other buckets and other kinds of events. */
  | { readonly kind: 'changes'; readonly changes: readonly ObjectChange[]; readonly ignored: number }
  /** Not a notification that we can parse; a retry cannot help. */
  | { readonly kind: 'malformed'; readonly why: string };

type Json = Readonly<Record<string, unknown>>;

/** @param bucket changes of other buckets are ignored */
export function parseNotification(content: Uint8Array, bucket: string): Notification {
  let document: unknown;
  try {
    document = JSON.parse(decodeDocument(content) ?? '');
  } catch {
    return malformed('is not JSON');
  }
  if (!isMap(document)) return malformed('is not a JSON object');
  // Sent once when notifications are configured on AWS.
  if (document.Event === 's3:TestEvent') return { kind: 'changes', changes: [], ignored: 1 };
  if (!Array.isArray(document.Records)) return malformed('has no list `Records`');
  const changes: ObjectChange[] = [];
  for (const [at, record] of document.Records.entries()) {
    const change = changeOf(record, bucket);
    if (typeof change === 'string') return malformed(`Records[${at}]${change}`);
    if (change) changes.push(change);
  }
  return { kind: 'changes', changes, ignored: document.Records.length - changes.length };
}

/** Undefined when the record is ignored; a string says what is wrong. */
function changeOf(record: unknown, bucket: string): ObjectChange | string | undefined {
  if (!isMap(record)) return ' is not an object';
  if (typeof record.eventName !== 'string') return '.eventName is not a string';
  const kind = kindOf(record.eventName);
  const s3 = isMap(record.s3) ? record.s3 : {};
  const name = isMap(s3.bucket) ? s3.bucket.name : undefined;
  if (typeof name !== 'string') return '.s3.bucket.name is not a string';
  if (kind === undefined || name !== bucket) return undefined;
  const key = isMap(s3.object) ? s3.object.key : undefined;
  if (typeof key !== 'string' || key === '') return '.s3.object.key is not a non-empty string';
  // Ceph sends raw keys; the others form-encode them.
  if (record.eventSource === 'ceph:s3') return { kind, key };
  try {
    return { kind, key: decodeURIComponent(key.replaceAll('+', ' ')) };
  } catch {
    return '.s3.object.key is not URL-encoded';
  }
}

function kindOf(eventName: string): ObjectChange['kind'] | undefined {
  const name = eventName.replace(/^s3:/, '');
  if (name.startsWith('ObjectCreated:')) return 'created';
  return /^(?:ObjectRemoved|LifecycleExpiration|ObjectLifecycle:Expiration)\b/.test(name) ? 'removed' : undefined;
}

const malformed = (why: string): Notification => ({ kind: 'malformed', why });

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
