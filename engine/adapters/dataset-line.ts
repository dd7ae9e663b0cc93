// A dataset of the cache as the column `dataset.line` tells of it (0009-dataset-line.sql), and a page of datasets as the
// lines of one text: a row that is one short value costs server and driver a fifth of one with a column for each part, and
// a full run of the reconciler reads all rows. Fields are separated by tabs and escaped as COPY escapes them:
//   owner, dataset; ms and etag of the synced metadata, data and shares, empty where never synced; then, in a part that
//   many lines share word for word: state, name and version of the type, upload and import status, install targets

import { defect } from '../failure.ts';
import type { DatasetId, TargetId, UserId } from '../model/ids.ts';
import type { DatasetState, ImportStatus, UploadStatus } from '../model/status.ts';
import type { ObjectVersion, SyncPart } from '../ports/catalog.ts';
import type { IndexedDataset } from '../ports/dataset-index.ts';

type Shared = Pick<IndexedDataset, 'state' | 'type' | 'installTargets' | 'upload' | 'import'>;

/** Different shared parts that are remembered while a page is read. */
const REMEMBERED = 1_000;

/**
 * Reads lines that are separated by newlines.
 * @param lines null for none
 */
export function parseDatasetLines(lines: string | null): readonly IndexedDataset[] {
  const datasets: IndexedDataset[] = [];
  if (lines === null) return datasets;
  const shared = new Map<string, Shared>();
  for (let start = 0; start <= lines.length; ) {
    const newline = lines.indexOf('\n', start);
    const end = newline < 0 ? lines.length : newline;
    datasets.push(parseLine(lines, start, end, shared));
    start = end + 1;
  }
  return datasets;
}

function parseLine(lines: string, start: number, end: number, shared: Map<string, Shared>): IndexedDataset {
  let at = start;
  const field = (): string => {
    const tab = lines.indexOf('\t', at);
    if (tab < 0 || tab >= end) throw defect(`a dataset's line has too few fields: ${lines.slice(start, end)}`);
    const value = lines.slice(at, tab);
    at = tab + 1;
    return value;
  };
  const owner = field() as UserId;
  const dataset = field() as DatasetId;
  const sync: Partial<Record<SyncPart, ObjectVersion>> = {};
  const meta = version(field(), field());
  if (meta) sync.meta = meta;
  const data = version(field(), field());
  if (data) sync.data = data;
  const shares = version(field(), field());
  if (shares) sync.shares = shares;
  const rest = lines.slice(at, end);
  const { state, type, installTargets, upload, import: imported } = shared.get(rest) ?? parseShared(rest, shared);
  return { owner, dataset, state, type, installTargets, upload, import: imported, sync };
}

/** Undefined where the part was never synced. */
const version = (modifiedMs: string, etag: string): ObjectVersion | undefined =>
  modifiedMs === '' ? undefined : { modified: new Date(Number(modifiedMs)), etag: unescaped(etag) };

function parseShared(rest: string, shared: Map<string, Shared>): Shared {
  const [state, name, version, upload, imported, ...targets] = rest.split('\t').map(unescaped);
  if (imported === undefined) throw defect(`a dataset's line has too few fields at its end: ${rest}`);
  const parsed: Shared = {
    state: state as DatasetState,
    type: { name: name as string, version: version as string },
    installTargets: targets as TargetId[],
    upload: upload as UploadStatus,
    import: imported as ImportStatus,
  };
  if (shared.size < REMEMBERED) shared.set(rest, parsed);
  return parsed;
}

const ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };

const unescaped = (field: string): string =>
  field.includes('\\') ? field.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter) : field;
