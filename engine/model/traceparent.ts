// The trace that a piece of work belongs to, as the header `traceparent` says it (W3C Trace Context):
// `00-{trace id, 32 hex digits}-{id of the one that calls, 16}-{flags, 2}`. The trace id stays the same from the first
// caller to the last callee; each of them puts an id of its own before it passes the header on. We record no spans: the
// ids are for the log, and for whoever traces before or after us.

import { randomBytes } from 'node:crypto';
import type { Branded } from './ids.ts';

/** Parsed or made by us: always version 00. */
export type Traceparent = Branded<'Traceparent'>;

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NONE = /^0+$/;
/** Sampled, and trace id made at random; all other bits have no meaning yet and are not passed on. */
const KNOWN_FLAGS = 0b11;
/** Nobody before us asked for a recording; the id is random. */
const OWN_FLAGS = '02';

/**
 * Undefined for whatever the specification says to ignore: another form, capitals, ids of zeros, version ff. Of a later
 * version the known parts are taken.
 */
export function parseTraceparent(text: string | undefined): Traceparent | undefined {
  const [, version = '', trace = '', caller = '', flags = '', more] = FORM.exec(text ?? '') ?? [];
  if (version === '' || version === 'ff' || NONE.test(trace) || NONE.test(caller)) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return write(trace, caller, (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0'));
}

/** The first of a trace. */
export const newTraceparent = (): Traceparent => write(someHex(16), someHex(8), OWN_FLAGS);

/** The same trace as the next one is told of it: with an id of our own. */
export function passedOn(traceparent: Traceparent): Traceparent {
  return write(traceIdOf(traceparent), someHex(8), traceparent.slice(-2));
}

/** 32 hex digits. */
export const traceIdOf = (traceparent: Traceparent): string => traceparent.slice(3, 35);

const write = (trace: string, caller: string, flags: string): Traceparent =>
  `00-${trace}-${caller}-${flags}` as Traceparent;

/** Never only zeros, which would mean none. */
function someHex(bytes: number): string {
  const hex = randomBytes(bytes).toString('hex');
  return NONE.test(hex) ? someHex(bytes) : hex;
}
