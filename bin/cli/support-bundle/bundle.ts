// Collects the parts of a support bundle and packs them. A part that fails, or takes too long, is listed with its reason.

import type { ArchiveSource } from '../../../engine/archive/archive-entry.ts';
import { writeTarGz } from '../../../engine/archive/tar-writer.ts';
import { codeOf, Failure, messageOf, transient } from '../../../engine/runtime/failure.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { unlessAborted } from '../../../engine/runtime/wait.ts';
import type { BundlePart } from './bundle-parts.ts';

const PART_MS = 20_000;
const PART_BYTES = 8 * 1024 * 1024;
const FOLDER = 'longshore-support';
const GZIP_LEVEL = 6;

/** What became of a part. */
export interface PartReport {
  readonly name: string;
  readonly bytes?: number;
  /** True if only a part of it was kept. */
  readonly cut?: true;
  readonly tookMs: number;
  /** Why it is missing. */
  readonly failure?: string;
}

/** @param redact removes secrets, from every part */
export async function writeBundle(
  file: string,
  parts: readonly BundlePart[],
  redact: (text: string) => string,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly PartReport[]> {
  const collected = await Promise.all(parts.map((part) => collect(part, redact, clock, signal)));
  const reports = collected.map(({ report }) => report);
  const modified = new Date(clock.now());
  const sources = [...collected, { report: { name: 'parts.json' }, text: `${JSON.stringify(reports, null, 2)}\n` }];
  await writeTarGz(
    file,
    sources.flatMap(({ report, text }): readonly ArchiveSource[] => {
      if (text === undefined) return [];
      const body = Buffer.from(text);
      return [{ path: `${FOLDER}/${report.name}`, size: body.length, body, modified }];
    }),
    { level: GZIP_LEVEL },
    signal,
  );
  return reports;
}

async function collect(
  { name, isLog, read }: BundlePart,
  redact: (text: string) => string,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly report: PartReport; readonly text?: string }> {
  const begun = clock.now();
  const took = (): number => Math.round(clock.now() - begun);
  using limit = deadline(clock, PART_MS, signal, () => transient(`it took longer than ${PART_MS / 1_000} s`));
  try {
    const whole = redact(await unlessAborted(read(limit.signal), limit.signal));
    const text = isLog ? whole.slice(-PART_BYTES) : whole.slice(0, PART_BYTES);
    const cut = text.length < whole.length ? ({ cut: true } as const) : {};
    return { report: { name, bytes: Buffer.byteLength(text), ...cut, tookMs: took() }, text };
  } catch (error) {
    signal.throwIfAborted();
    return { report: { name, tookMs: took(), failure: redact(reasonOf(error)) } };
  }
}

/** Only messages of our own failures and of the system: others may contain anything. */
const reasonOf = (error: unknown): string =>
  error instanceof Failure || codeOf(error) !== undefined ? messageOf(error) : 'it could not be read';
