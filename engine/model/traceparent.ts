// The trace that a piece of work belongs to, in the form of the header `traceparent` (W3C Trace Context):
// `00-{trace id, 32 hex digits}-{id of the caller, 16}-{flags, 2}`. The trace id stays the same from the first caller to the
// last callee; each of them sets its own id before it passes the header on. We record no spans: the ids are for the log, and
// for services before or after us that trace.

import { randomBytes } from 'node:crypto';
import type { Branded } from './ids.ts';

/** Parsed or created by us: always version 00. */
export type Traceparent = Branded<'Traceparent'>;

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NONE = /^0+$/;
/** Sampled, and random trace id; the other bits have no meaning yet and are not passed on. */
const KNOWN_FLAGS = 0b11;
/** No caller asked for a recording; the id is random. */
const OWN_FLAGS = '02';

/**
 * Undefined for whatever the specification says to ignore: another form, capitals, ids of zeros, version ff. Of a later version
 * the known parts are used.
 */
export function parseTraceparent(text: string | undefined): Traceparent | undefined {
  const [, version = '', trace = '', caller = '', flags = '', more] = FORM.exec(text ?? '') ?? [];
  if (version === '' || version === 'ff' || NONE.test(trace) || NONE.test(caller)) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return write(trace, caller, (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0'));
}

/** Starts a new trace. */
export const newTraceparent = (): Traceparent => write(someHex(16), someHex(8), OWN_FLAGS);

/** The header for the next callee: the same trace, with an id of our own. */
export function passedOn(traceparent: Traceparent): Traceparent {
  return write(traceIdOf(traceparent), someHex(8), traceparent.slice(-2));
}

/** 32 hex digits. */
export const traceIdOf = (traceparent: Traceparent): string => traceparent.slice(3, 35);

const write = (trace: string, caller: string, flags: string): Traceparent =>
  `00-${trace}-${caller}-${flags}` as Traceparent;

/** Never all zeros, which would mean no id. */
function someHex(bytes: number): string {
  const hex = randomBytes(bytes).toString('hex');
  return NONE.test(hex) ? someHex(bytes) : hex;
}
