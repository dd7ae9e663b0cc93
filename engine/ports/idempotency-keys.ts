// Keys by which a client repeats a request that creates something (`Idempotency-Key`). A key belongs to a caller and an
// operation, and leads to at most one creation until it expires.
//
//   free       no row, or an expired one         --claim-->  under way
//   under way  its holder renews it              --answer, or the transaction that creates-->  answered
//   under way  its holder releases it, or dies   --release, expiry-->  free
//   answered   a repetition gets the answer      --expiry-->  free
//
// A claim that was lost can neither answer nor create: the statement that does so finds another holder.

export interface KeyName {
  readonly operation: string;
  /** Who sent the key; two callers never share one. */
  readonly caller: string;
  readonly key: string;
}

export interface KeyClaim extends KeyName {
  /** Id of the request, a UUID. */
  readonly holder: string;
}

export interface StoredAnswer {
  readonly code: number;
  /** JSON text; absent = no body. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the created thing is, below the public URL of the service; absent = nowhere. */
  readonly path?: string;
}

export interface KeptAnswer {
  /** Of the request: a repetition has the same. */
  readonly fingerprint: string;
  readonly answer: StoredAnswer;
}

/** What a transaction that creates something writes as well. If the claim was lost, it creates nothing. */
export interface KeyedAnswer extends KeptAnswer {
  readonly claim: KeyClaim;
  /** In ms since 1970. */
  readonly expiresMs: number;
}

export type Claimed =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'under way' }
  | { readonly kind: 'too many' }
  | ({ readonly kind: 'answered' } & KeptAnswer);

export interface ClaimBounds {
  /** In ms since 1970, as all times here. */
  readonly nowMs: number;
  /** When the claim expires unless it is renewed. */
  readonly untilMs: number;
  /** Keys of a caller; concurrent calls can exceed it by their own number. */
  readonly most: number;
}

export interface IdempotencyKeys {
  /** Of concurrent calls for a free key, one gets `claimed`. */
  claim(claim: KeyClaim, bounds: ClaimBounds, signal: AbortSignal): Promise<Claimed>;
  /** False when the claim was lost or has been answered. */
  renew(claim: KeyClaim, untilMs: number, signal: AbortSignal): Promise<boolean>;
  /** False, with nothing written, when the claim was lost or has been answered. */
  answer(keyed: KeyedAnswer, signal: AbortSignal): Promise<boolean>;
  /** Frees the key, unless the claim was lost or has been answered. */
  release(claim: KeyClaim, signal: AbortSignal): Promise<void>;
  /** Removes what has expired. Returns the number. */
  dropExpired(nowMs: number, signal: AbortSignal): Promise<number>;
}
