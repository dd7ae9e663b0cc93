// A progress bar with rate and remaining time, drawn at most 10 times a second; draws nothing without a terminal.
//   running   at -> running; finish -> over, the last line shows amount and time; dispose -> over, the line stays
//   over      everything is ignored

import type { Clock } from '../../../engine/runtime/time.ts';
import { LiveLines } from './screen.ts';
import { displayWidth } from './table.ts';
import type { Terminal } from './terminal.ts';
import { bytes, digits, duration, oneLine } from './text.ts';

export interface ProgressOptions {
  /** What is transferred or counted; sanitized here. */
  readonly label: string;
  /** `bytes`, or the plural of what is counted: `datasets`. */
  readonly unit: string;
  /** Undefined while unknown: count and rate are shown, but no bar. */
  readonly total?: number | undefined;
}

/** The data for one line. */
export interface ProgressState extends ProgressOptions {
  readonly done: number;
  /** Per second; undefined while there are too few samples. */
  readonly rate: number | undefined;
  /** Set when it is over. */
  readonly tookSeconds?: number;
}

const LEAST_PAUSE_MS = 100;
/** Redraws at this interval, so that a stalled transfer is visible. */
const TICK_MS = 500;
/** The rate is averaged over this window. */
const WINDOW_MS = 5_000;
const BAR = { least: 10, most: 40 } as const;

export class Progress implements Disposable {
  readonly #options: ProgressOptions;
  readonly #clock: Clock;
  readonly #lines: LiveLines | undefined;
  readonly #terminal: Terminal | undefined;
  readonly #begun: number;
  readonly #samples: { readonly at: number; readonly done: number }[] = [];
  readonly #stopListening: (() => void) | undefined;
  #cancelTick: (() => void) | undefined;
  #done = 0;
  #total: number | undefined;
  #lastDrawn = Number.NEGATIVE_INFINITY;
  #over = false;

  /** @param terminal undefined = draw nothing */
  constructor(options: ProgressOptions, terminal: Terminal | undefined, clock: Clock) {
    this.#options = options;
    this.#total = options.total;
    this.#clock = clock;
    this.#terminal = terminal;
    this.#begun = clock.now();
    this.#samples.push({ at: this.#begun, done: 0 });
    this.#lines = terminal && new LiveLines(terminal);
    this.#stopListening = terminal?.onResize(() => this.#draw());
    if (terminal) this.#draw();
  }

  /** Sets the amount that is done so far. */
  at(done: number, total: number | undefined = this.#total): void {
    if (this.#over || !this.#lines) return;
    this.#done = done;
    this.#total = total;
    const wait = this.#lastDrawn + LEAST_PAUSE_MS - this.#clock.now();
    if (wait <= 0) this.#draw();
    else this.#drawIn(wait);
  }

  /** Ends; the last line shows how long it took. */
  finish(): void {
    this.#end(Math.max(0, this.#clock.now() - this.#begun) / 1_000);
  }

  /** Leaves the line as it is if {@link finish} was not called. */
  [Symbol.dispose](): void {
    this.#end(undefined);
  }

  #end(tookSeconds: number | undefined): void {
    if (this.#over) return;
    this.#draw(tookSeconds);
    this.#over = true;
    this.#cancelTick?.();
    this.#stopListening?.();
    this.#lines?.end();
  }

  #drawIn(ms: number): void {
    this.#cancelTick?.();
    this.#cancelTick = this.#clock.after(ms, () => this.#draw());
  }

  #draw(tookSeconds?: number): void {
    if (!this.#lines || !this.#terminal || this.#over) return;
    const now = this.#clock.now();
    this.#lastDrawn = now;
    this.#samples.push({ at: now, done: this.#done });
    while ((this.#samples[1]?.at ?? now) <= now - WINDOW_MS) this.#samples.shift();
    const state = { ...this.#options, total: this.#total, done: this.#done, rate: this.#rate() };
    const ended = tookSeconds === undefined ? state : { ...state, rate: this.#done / (tookSeconds || 1), tookSeconds };
    this.#lines.draw([progressText(ended, this.#terminal.columns() - 1)]);
    this.#drawIn(TICK_MS);
  }

  #rate(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.at - first.at < LEAST_PAUSE_MS) return undefined;
    return ((last.done - first.done) * 1_000) / (last.at - first.at);
  }
}

/** One line of at most `width` columns; the least important parts are dropped first. */
export function progressText(state: ProgressState, width: number): string {
  const { total, done, rate, tookSeconds } = state;
  const share = total === undefined ? undefined : total === 0 ? 1 : Math.min(1, done / total);
  const left = share === undefined || !rate || total === undefined || share === 1 ? undefined : (total - done) / rate;
  const label = oneLine(state.label);
  const parts = [
    share === undefined ? '' : `${Math.floor(share * 100)}%`.padStart(4),
    amount(state),
    rate === undefined ? '' : state.unit === 'bytes' ? `${bytes(rate)}/s` : `${digits(rate)}/s`,
    tookSeconds !== undefined ? `in ${duration(tookSeconds)}` : left === undefined ? '' : `${duration(left)} left`,
  ].filter((part) => part !== '');
  const room = (texts: readonly string[]): number => width - displayWidth([label, ...texts].join('  '));
  while (parts.length > 1 && room(parts) < (share === undefined ? 0 : BAR.least + 4)) parts.splice(-1);
  const space = Math.min(BAR.most, room(parts) - 4);
  if (share === undefined || space < BAR.least) return [label, ...parts].join('  ');
  const filled = Math.floor(share * space);
  return [label, `[${'#'.repeat(filled)}${'.'.repeat(space - filled)}]`, ...parts].join('  ');
}

function amount({ done, total, unit, tookSeconds }: ProgressState): string {
  if (unit === 'bytes')
    return tookSeconds !== undefined || total === undefined ? bytes(done) : `${bytes(done)} of ${bytes(total)}`;
  return total === undefined || tookSeconds !== undefined ? `${done} ${unit}` : `${done} of ${total} ${unit}`;
}
