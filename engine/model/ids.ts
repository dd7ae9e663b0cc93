// Identifiers. Each is a branded string, so that a dataset id cannot be passed where a user id is meant.

declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

/**
 * 16 characters of `[0-9A-Za-z]`, time-ordered; a revision is `{root}_{n}`, n from 1 (docs/contract/installer.md#shared-types).
 * Buckets that another installer wrote have ids of up to 64 letters, digits, `_`, `-`, and dots; there a revision is
 * `{root}.{n}`.
 */
export type DatasetId = Branded<'DatasetId'>;
/** A positive integer in decimal, kept as text because it may exceed 2^53 (docs/contract/installer.md#shared-types). */
export type UserId = Branded<'UserId'>;
/** One of the configured install targets, 5..32 characters (docs/contract/installer.md#shared-types). */
export type TargetId = Branded<'TargetId'>;

/** 32 random hexadecimal digits, which nobody can guess. */
export type UploadId = Branded<'UploadId'>;

/** The text of a dataset id as a regular expression. Never `.` or `..`, because ids are parts of paths. */
export const DATASET_ID_TEXT = '[a-zA-Z0-9_-][a-zA-Z0-9_.-]{0,63}';
const DATASET_ID = new RegExp(`^${DATASET_ID_TEXT}$`);
const USER_ID = /^[1-9][0-9]{0,18}$/;
/** Upper bound of a UserId as printed in the contract. */
const USER_ID_MAX = 9223372036854776000n;
const USER_ID_DIGITS = 19;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 8 characters hold 62^8 ms, which is 6,900 years; the other 8 hold 47 random bits. */
const TIME_CHARACTERS = 8;
const RANDOM_CHARACTERS = 8;

/** The text as a dataset id, or undefined when it is not one. */
export function parseDatasetId(text: string): DatasetId | undefined {
  return DATASET_ID.test(text) ? (text as DatasetId) : undefined;
}

/** The text as a user id, or undefined when it is not one (1..9223372036854776000). */
export function parseUserId(text: string): UserId | undefined {
  if (!USER_ID.test(text) || (text.length === USER_ID_DIGITS && BigInt(text) > USER_ID_MAX)) return undefined;
  return text as UserId;
}

/** The text as the id of a resumable upload, or undefined when it is not one. */
export function parseUploadId(text: string): UploadId | undefined {
  return /^[0-9a-f]{32}$/.test(text) ? (text as UploadId) : undefined;
}

/** @param random fills the given array with random bytes */
export const newUploadId = (random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): UploadId =>
  Buffer.from(random(new Uint8Array(16))).toString('hex') as UploadId;

/** For ids that the configuration has already checked. */
export function targetId(text: string): TargetId {
  return text as TargetId;
}

/**
 * A new dataset id. Bytewise order of ids is order of creation, to the millisecond; no coordination is needed.
 * @param nowMs milliseconds since 1970
 * @param random fills the given array with random bytes
 */
export function newDatasetId(nowMs: number, random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): DatasetId {
  const bytes = random(new Uint8Array(RANDOM_CHARACTERS));
  let id = '';
  let rest = nowMs;
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    id = ALPHABET.charAt(rest % 62) + id;
    rest = Math.floor(rest / 62);
  }
  // A byte modulo 62 is biased by 4/256 towards the first letters: harmless for uniqueness, so no rejection loop.
  for (const byte of bytes) id += ALPHABET.charAt(byte % 62);
  return id as DatasetId;
}

/** The dataset that a revision belongs to; a dataset that is not a revision is its own root. */
export function rootOf(id: DatasetId): DatasetId {
  const match = /^(.+)[_.][0-9]+$/.exec(id);
  return (match?.[1] ?? id) as DatasetId;
}

/** 0 for an original, n for its n-th revision. */
export function revisionNumber(id: DatasetId): number {
  const match = /[_.]([0-9]+)$/.exec(id);
  return match ? Number(match[1]) : 0;
}

export function revisionOf(root: DatasetId, n: number): DatasetId {
  return `${root}_${n}` as DatasetId;
}

/**
 * Whose fair share of a queue a job counts against: a user's, or that of all guests of one address. Anybody can create any
 * number of guests, so guests of one address share: a share per guest would give a client as many shares as it wants.
 */
export type Tenant = Branded<'Tenant'>;

/** Sorts before every guest, so that users come first where only a limited number of tenants is considered. */
export const tenantOfUser = (user: UserId): Tenant => `user ${user}` as Tenant;

/** @param network the address or network that per-address limits count */
export const tenantOfGuests = (network: string): Tenant => `visitors of ${network}` as Tenant;

/** Name of the program itself as a token issuer, as in `iss` claims. */
export const LOCAL_ISSUER = 'longshore-local';
