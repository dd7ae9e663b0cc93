// A job of the handler service: what its caller registered, and its states. Clients read the texts of the states.
//
//   (none) --PUT--> awaiting upload --POST--> uploading --place free--> unpacking --> processing --> completed
//                        ^                        |                         |              |
//                        +---- body refused ------+------- body refused ----+              |
//                                                 +-------------------------+--------------+-----> failed
// A job that has ended, or that waits for its upload, is replaced by a new registration under its id. When the process of a
// running job dies, the next process that checks marks the job as failed.

import { hiddenCharacter } from './file-name.ts';
import type { UserId } from './ids.ts';

export const HANDLER_STATUS = {
  awaiting: 'awaiting upload',
  uploading: 'uploading files for processing',
  unpacking: 'unpacking uploaded files',
  processing: 'processing uploaded files',
  completed: 'job completed',
  failed: 'job failed',
} as const;
export type HandlerState = keyof typeof HANDLER_STATUS;

/** Which states a job may come from. */
export const HANDLER_MOVES = {
  uploading: ['awaiting'],
  awaiting: ['uploading', 'unpacking'],
  unpacking: ['uploading'],
  processing: ['unpacking'],
  completed: ['processing'],
  failed: ['uploading', 'unpacking', 'processing'],
} as const satisfies Record<HandlerState, readonly HandlerState[]>;

export const RUNNING_STATES = ['uploading', 'unpacking', 'processing'] as const satisfies readonly HandlerState[];

export const isRunning = (state: HandlerState): boolean => (RUNNING_STATES as readonly HandlerState[]).includes(state);

export const HANDLER_ORIGINS = ['galaxy', 'direct-upload'] as const;
export type HandlerOrigin = (typeof HANDLER_ORIGINS)[number];

/** What a caller registers about a job before it uploads (docs/contract/handler.md#job-metadata). */
export interface JobRegistration {
  /** At least one, no duplicates, all configured. */
  readonly projects: readonly string[];
  readonly owner: UserId;
  /** At least 3 characters. */
  readonly name: string;
  readonly description?: string;
  readonly summary?: string;
  readonly origin?: HandlerOrigin;
  /** Scalars as text; injected into commands by name. */
  readonly handlerParams?: Readonly<Record<string, string>>;
}

const MAX_ID_CHARACTERS = 128;

/** 1 to 128 visible characters; undefined for anything else. Never used as a path: jobs have internal ids. */
export function parseJobId(text: string): string | undefined {
  const length = [...text].length;
  return length >= 1 && length <= MAX_ID_CHARACTERS && !hiddenCharacter(text) ? text : undefined;
}

/** Prefix of everything that the object store keeps for a job. */
export const handlerPrefix = (id: string): string => `handler/${id}/`;
export const handlerResultKey = (id: string): string => `${handlerPrefix(id)}result.tgz`;
