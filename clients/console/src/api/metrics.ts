// The numbers of the process that answers, from its metrics in the Prometheus text format.

import { installer } from './session.ts';

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One reading. */
export class Metrics {
  readonly at = Date.now();
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name = '', labels = '', value = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      if (name === '' || name.endsWith('_bucket')) continue;
      const found = this.#samples.get(name) ?? [];
      found.push({ labels: labelsOf(labels), value: Number(value) });
      this.#samples.set(name, found);
    }
  }

  list(name: string): readonly Sample[] {
    return this.#samples.get(name) ?? [];
  }

  /** The sum of the samples that have these labels; undefined if there are none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.list(name).filter((one) =>
      Object.entries(labels).every(([key, text]) => one.labels[key] === text),
    );
    return found.length === 0 ? undefined : found.reduce((sum, one) => sum + one.value, 0);
  }

  /** The values of a label. */
  names(name: string, label: string): readonly string[] {
    return [...new Set(this.list(name).flatMap(({ labels }) => labels[label] ?? []))];
  }
}

const labelsOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_all, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  );

export async function readMetrics(signal: AbortSignal): Promise<Metrics> {
  const { data } = await installer.GET('/metrics', { parseAs: 'text', signal });
  return new Metrics(String(data));
}
