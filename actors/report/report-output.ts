// The formatter's output files, by the names of its format type. Nothing else is part of the report.

import { lstat, opendir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_ENTRIES } from '../../engine/archive/archive-limits.ts';
import { outputOf } from '../../engine/model/report/command-line.ts';
import type { FormatType } from '../../engine/model/report/format-types.ts';
import type { ReportFile } from '../../engine/model/report/report-job.ts';
import { tooLarge } from './formatter.ts';
import { ReportFailure } from './report-failure.ts';

export interface OutputFile extends ReportFile {
  /** Path on disk. */
  readonly file: string;
}

/** The file or index first, then the files of the queries in order. */
export async function collectOutput(
  dir: string,
  type: FormatType,
  { maxBytes, stderr }: { readonly maxBytes: number; readonly stderr: string },
): Promise<readonly OutputFile[]> {
  const { written, file, parts } = outputOf(type);
  const names: string[] = [];
  for await (const { name } of await opendir(dir)) if (parts?.test(name)) names.push(name);
  if (names.length >= MAX_ENTRIES) throw new ReportFailure(`the report has more than ${MAX_ENTRIES} files`, stderr);
  names.sort((a, b) => numberOf(a) - numberOf(b));
  const files: OutputFile[] = [];
  for (const name of [written, ...names]) {
    const found = await lstat(join(dir, name)).catch(() => undefined);
    // A link could point anywhere.
    if (!found?.isFile()) throw new ReportFailure(`the formatter wrote no ${name}`, stderr);
    files.push({ name, size: found.size, file: join(dir, name) });
  }
  if (files.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw new ReportFailure(tooLarge(maxBytes), stderr);
  if (written === file) return files;
  await rename(join(dir, written), join(dir, file));
  return files.map((one) => (one.name === written ? { ...one, name: file, file: join(dir, file) } : one));
}

const numberOf = (name: string): number => Number(/_([0-9]+)\./.exec(name)?.[1] ?? 0);
