// Parses a server's /metrics, in the Prometheus text format (version 0.0.4), into values by name and labels.

export type SampleLabels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: SampleLabels;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export class MetricSamples {
  readonly #samples = new Map<string, Sample[]>();

  /** Lines that are not samples are skipped. */
  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
      if (name === undefined || value === undefined) continue;
      const samples = this.#samples.get(name) ?? [];
      samples.push({ labels: labelsOf(labels), value: numberOf(value) });
      this.#samples.set(name, samples);
    }
  }

  /** The sum over all samples that have these labels. Undefined when there are none. */
  value(name: string, labels: SampleLabels = {}): number | undefined {
    const found = (this.#samples.get(name) ?? []).filter((sample) =>
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** The distinct values of a label in the samples of a name, in the order of the text. */
  values(name: string, label: string): readonly string[] {
    const found = (this.#samples.get(name) ?? []).flatMap(({ labels }) => labels[label] ?? []);
    return [...new Set(found)];
  }
}

const labelsOf = (text: string): SampleLabels =>
  Object.fromEntries([...text.matchAll(LABEL)].map(([, key = '', value = '']) => [key, unescaped(value)]));

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
