// Small datasets uploaded over HTTP through all processes in turn, spread over a time. An upload that got no 202 is made
// again, through another process, until it has one: the ones before may have been accepted all the same.

import { type FormData, fetch } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import { detailsOf, formOf } from '../../support/api.ts';
import { TARGETS } from '../installation.ts';

const AT_ONCE = 8;
const GENES = 10;
const AGAIN_MS = 250;
/** For one answer: longer than any service is away. */
const PATIENCE_MS = 120_000;
/** What may be answered instead: a user's uploads that broke off count until it is noticed, and services may be away. */
const COME_AGAIN: ReadonlySet<number> = new Set([429, 503]);
const never = new AbortController().signal;

export interface UploadsOptions {
  readonly urls: readonly string[];
  readonly tokens: readonly string[];
  readonly count: number;
  /** In milliseconds. */
  readonly spreadOver: number;
}

export const nameOf = (at: number): string => `Dataset ${at}`;

/** What is in the dataset of that name. */
export const genesOf = (name: string): readonly string[] =>
  Array.from({ length: GENES }, (_, i) => `${name.replace(' ', '_')}_${i}`);

export class Uploads {
  /** Ids by name, of those that were answered with 202. */
  readonly accepted = new Map<string, string>();
  /** Names of those of which an answer was lost. */
  readonly doubtful = new Set<string>();
  /** Answers by status; connections that broke are 0. */
  readonly answers = new Map<number, number>();
  /** Answers that no upload may get, whatever is away. */
  readonly wrong: string[] = [];
  readonly #options: UploadsOptions;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.accepted.size === this.#options.count;
  }

  /** Resolves when all are accepted. */
  async run(): Promise<void> {
    const begun = systemClock.now();
    const { count, spreadOver } = this.#options;
    const all = Array.from({ length: count }, (_, at) => at).values();
    const worker = async (): Promise<void> => {
      for (const at of all) {
        await systemClock.sleep(Math.max(0, begun + (at * spreadOver) / count - systemClock.now()), never);
        await this.#upload(at);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #upload(at: number): Promise<void> {
    const name = nameOf(at);
    for (let attempts = 0; !this.accepted.has(name); attempts++) {
      if (attempts > 0) await systemClock.sleep(AGAIN_MS, never);
      await this.#try(name, at, at + attempts);
    }
  }

  async #try(name: string, at: number, turn: number): Promise<void> {
    const { urls, tokens } = this.#options;
    const form: FormData = formOf(detailsOf('genelist', { name, installTargets: TARGETS }), [
      { name: 'genes.txt', content: `${genesOf(name).join('\n')}\n` },
    ]);
    let status = 0;
    try {
      const response = await fetch(`${urls[turn % urls.length]}/datasets`, {
        method: 'POST',
        body: form,
        headers: { authorization: `Bearer ${tokens[at % tokens.length]}` },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      status = response.status;
      const text = await response.text();
      if (status === 202) this.accepted.set(name, (JSON.parse(text) as { datasetId: string }).datasetId);
      else if (!COME_AGAIN.has(status)) this.wrong.push(`${status} ${text}`);
      // A process may have said that it failed after it accepted.
      if (status >= 500) this.doubtful.add(name);
    } catch (error) {
      if (!isRefused(error)) this.doubtful.add(name);
    }
    this.answers.set(status, (this.answers.get(status) ?? 0) + 1);
  }
}

/** Nothing was sent. */
const isRefused = (error: unknown): boolean =>
  ((error as { cause?: { code?: string } }).cause?.code ?? '') === 'ECONNREFUSED';
