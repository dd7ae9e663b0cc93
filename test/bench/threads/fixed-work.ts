// The jobs that threads do in the measures of lanes: nothing, and a native call of fixed size. Work in JavaScript would
// take five times as long before the compiler has seen it often enough as after that.

import { createHash } from 'node:crypto';

/** About 0.7 ms of one core. */
const BYTES = 1_200_000;

const block = Buffer.alloc(BYTES, 7);

/** The number itself, so that the answers of all jobs add up to what they must. */
export const noop = (n: number): number => n;

/** Hexadecimal sha256 of a fixed block. */
export const digest = (): string => createHash('sha256').update(block).digest('hex');
