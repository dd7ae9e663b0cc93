// Asks questions on a terminal, one line each. Answers to secret questions are not shown.

import { once } from 'node:events';
import { aborted } from '../../../engine/runtime/failure.ts';
import type { Keyboard } from './terminal.ts';

interface Question {
  readonly text: string;
  /** Is taken when the answer is empty. */
  readonly fallback?: string;
  readonly secret?: boolean;
  /** Returns what is allowed if the answer is not. */
  readonly refuse?: (answer: string) => string | undefined;
}

const BACKSPACE = ['\u007f', '\b'];
const ENTER = ['\r', '\n'];
/** Ctrl-C, and Ctrl-D. */
const GIVE_UP = ['\u0003', '\u0004'];
const ESCAPE = '\u001b';
/** Longest answer; the rest is ignored. */
const MAX_LENGTH = 1024;

export class Questions implements Disposable {
  readonly #write: (text: string) => void;
  readonly #signal: AbortSignal;
  readonly #stop: () => void;
  readonly #keys: string[] = [];
  readonly #heard = new EventTarget();

  constructor(keyboard: Keyboard, write: (text: string) => void, signal: AbortSignal) {
    this.#write = write;
    this.#signal = signal;
    this.#stop = keyboard.onKey((key) => {
      this.#keys.push(key);
      this.#heard.dispatchEvent(new Event('key'));
    });
  }

  /** Asks until the answer is allowed. Rejects when the caller gives up. */
  async ask({ text, fallback = '', secret = false, refuse }: Question): Promise<string> {
    const hint = fallback === '' ? '' : ` [${fallback}]`;
    for (;;) {
      this.#write(`${text}${hint}: `);
      const line = (await this.#line(secret)).trim();
      const answer = line === '' ? fallback : line;
      const allowed = refuse?.(answer);
      if (allowed === undefined) return answer;
      this.#write(`  must be ${allowed}\n`);
    }
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  async #line(secret: boolean): Promise<string> {
    const typed: string[] = [];
    for (;;) {
      const key = await this.#key();
      if (ENTER.includes(key)) {
        this.#write('\n');
        return typed.join('');
      }
      if (GIVE_UP.includes(key)) {
        this.#write('\n');
        throw aborted('nothing was written');
      }
      if (BACKSPACE.includes(key)) {
        if (typed.pop() !== undefined && !secret) this.#write('\b \b');
      } else if (key === ESCAPE) await this.#skipSequence();
      else if (key >= ' ' && typed.length < MAX_LENGTH) {
        typed.push(key);
        if (!secret) this.#write(key);
      }
    }
  }

  /** An arrow key or another one that sends an escape, a bracket, and ends with a letter or a tilde. */
  async #skipSequence(): Promise<void> {
    if ((await this.#key()) !== '[') return;
    while (!/[A-Za-z~]/.test(await this.#key()));
  }

  async #key(): Promise<string> {
    for (;;) {
      this.#signal.throwIfAborted();
      const key = this.#keys.shift();
      if (key !== undefined) return key;
      await once(this.#heard as never, 'key', { signal: this.#signal });
    }
  }
}
