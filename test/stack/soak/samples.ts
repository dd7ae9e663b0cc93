// Memory and handles of processes, sampled while they live, and compared over the lifetime of one that is never killed.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fetch } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import type { ServeProcess } from '../scale-out/serve-process.ts';

const EVERY_MS = 5_000;
const HEAP = /^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m;
const never = new AbortController().signal;
export const MEASURES = ['rssMib', 'heapMib', 'descriptors', 'sockets', 'threads'] as const;
export type Measures = Readonly<Partial<Record<(typeof MEASURES)[number], number>>>;

interface Sample {
  readonly at: number;
  readonly measures: Measures;
}

export interface Lifetime {
  readonly process: string;
  readonly seconds: number;
  /** Medians; of the heap, which grows until it is collected, the tenth part. */
  readonly quarters: readonly Measures[];
}

export class Samples {
  readonly #byLife = new Map<string, Sample[]>();

  async run(processes: readonly ServeProcess[], isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await Promise.all(processes.map((serve) => this.#sample(serve)));
      await systemClock.sleep(EVERY_MS, never);
    }
  }

  async #sample(serve: ServeProcess): Promise<void> {
    const { pid } = serve;
    try {
      const at = systemClock.now();
      const heap = await heapOf(serve);
      const measures = { ...measure(pid), ...(heap === undefined ? {} : { heapMib: heap }) };
      const key = `${serve.name} ${pid}`;
      this.#byLife.set(key, [...(this.#byLife.get(key) ?? []), { at, measures }]);
    } catch {
      // It was killed meanwhile.
    }
  }

  /** Without what comes in the first time of each. */
  lifetimes(warmUpMs: number): readonly Lifetime[] {
    return [...this.#byLife].flatMap(([key, all]) => {
      const [first, last] = [all[0]?.at ?? 0, all.at(-1)?.at ?? 0];
      const warm = all.filter(({ at }) => at - first >= warmUpMs);
      const begun = warm[0]?.at ?? last;
      const quarters = [0, 1, 2, 3].map((n) =>
        summary(warm.filter(({ at }) => Math.min(3, Math.floor((4 * (at - begun)) / (last - begun || 1))) === n)),
      );
      return [{ process: key, seconds: Math.round((last - first) / 1000), quarters }];
    });
  }
}

function summary(samples: readonly Sample[]): Measures {
  return Object.fromEntries(
    MEASURES.map((name) => {
      const values = samples.flatMap(({ measures }) => measures[name] ?? []).sort((a, b) => a - b);
      return [name, values[Math.floor(values.length * (name === 'heapMib' ? 0.1 : 0.5))]];
    }),
  );
}

function measure(pid: number): Measures {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return ''; // closed meanwhile
    }
  });
  return {
    rssMib: field('VmRSS') / 1024,
    descriptors: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    threads: field('Threads'),
  };
}

async function heapOf(serve: ServeProcess): Promise<number | undefined> {
  try {
    const response = await fetch(`${serve.url}/metrics`, { signal: AbortSignal.timeout(3_000) });
    return Number(HEAP.exec(await response.text())?.[1]) / 1024 ** 2;
  } catch {
    return undefined;
  }
}
