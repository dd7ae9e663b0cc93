// `longshore datasets list`, `show`, `download`, `revise`, `delete`, `undelete`, `retry` and `share`.

import { basename } from 'node:path';
import { systemClock } from '../../engine/runtime/time.ts';
import { implement, wholeNumber } from '../cli/arguments.ts';
import { openClient } from '../cli/client/client-options.ts';
import { progressLine, progressOf, stepName } from '../cli/client/dataset-progress.ts';
import { deadlineOf, finishUpload } from '../cli/client/follow.ts';
import type { DatasetItem, ShownDataset, UploadSource } from '../cli/client/installer-client.ts';
import { checkInputs, readDetails, showProgress, showUpload } from '../cli/client/transfer.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { listing, table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine, oneLine } from '../cli/terminal/text.ts';
import { DELETE, DOWNLOAD, LIST, RETRY, REVISE, SHARE, SHOW, UNDELETE } from '../cli/tree/datasets.ts';

/** More than a table can show. */
const MOST_DATASETS = 1_000_000;

export const list: Command = implement(LIST, async ({ values }, io) => {
  const asked = {
    ...{ install_target: values.target, ownership: values.ownership, q: values.search, name: values.name },
    ...{ type: values.type, status: values.status, updatedSince: values['updated-since'] },
    ...{ sort: values.sort, order: values.order },
  };
  const query = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  const most =
    values.limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber('limit', values.limit, 1, MOST_DATASETS);
  const items = await (await openClient(values, io)).list(query, most, io.signal);
  io.out(values.json ? jsonDocument(items) : table(COLUMNS, items.map(row), io.outTerminal));
  return EXIT.ok;
});

export const show: Command = implement(SHOW, async ({ values, args: { id } }, io) => {
  const item = await (await openClient(values, io)).show(id, io.signal);
  io.out(values.json ? jsonDocument(item) : listing(describe(item), io.outTerminal) + stepsOf(item) + filesOf(item));
  return EXIT.ok;
});

export const download: Command = implement(DOWNLOAD, async ({ values, args: { id } }, io) => {
  const { install, document } = values;
  if (install && document !== undefined) throw new UsageError('--install and --document cannot be combined');
  const which = document === undefined ? (install ? 'install' : 'upload') : { document };
  const name = document === undefined ? `${basename(id)}-${install ? 'data' : 'upload'}.zip` : basename(document);
  const file = values.out ?? name;
  const client = await openClient(values, io);
  using progress = showProgress({ label: basename(file), unit: 'bytes' }, values, io, systemClock);
  const found = await client.download(id, which, file, (bytes, total) => progress.at(bytes, total), io.signal);
  progress.finish();
  if (!found.verified && !values.json && !values.quiet)
    io.err(`the server does not know the SHA-256 of ${file}, so it is not verified; it has ${found.sha256}\n`);
  io.out(values.json ? jsonLine({ datasetId: id, file, ...found }) : `${file}\n`);
  return EXIT.ok;
});

/** Uploads a new revision and prints its id. `--details` contains the changes, as in a PATCH: `{"name": {"value": ..}}`. */
export const revise: Command = implement(REVISE, async ({ values, args: { id, file: files } }, io) => {
  await checkInputs(files, values.url);
  deadlineOf(values);
  const changes = await readDetails(values.details);
  const details = { origin: values.origin, ...changes, revisionNote: values.note };
  const client = await openClient(values, io);
  const send = (source: UploadSource) => client.revise(id, details, source, io.signal);
  const revision = await showUpload(files, values.url, send, values, io, systemClock);
  return finishUpload(client, revision, values, io);
});

export const remove: Command = implement(DELETE, async ({ values, args: { id } }, io) => {
  await (await openClient(values, io)).delete(id, io.signal);
  return done(id, 'deleted', values, io);
});

export const undelete: Command = implement(UNDELETE, async ({ values, args: { id } }, io) => {
  await (await openClient(values, io)).undelete(id, io.signal);
  return done(id, 'undeleted', values, io);
});

export const retry: Command = implement(RETRY, async ({ values, args: { id } }, io) => {
  await (await openClient(values, io)).retry(id, io.signal);
  return done(id, 'queued again', values, io);
});

export const share: Command = implement(SHARE, async ({ values, args: { id } }, io) => {
  const { with: user, revoke } = values;
  await (await openClient(values, io)).offer(id, user, revoke ? 'revoke' : 'grant', io.signal);
  return done(id, revoke ? `no longer offered to ${user}` : `offered to ${user}`, values, io);
});

function done(id: string, what: string, values: { readonly json: boolean }, io: CommandIo): ExitCode {
  io.out(values.json ? jsonLine({ datasetId: id }) : `${id} ${what}\n`);
  return EXIT.ok;
}

const state = (item: DatasetItem): string => {
  const progress = progressOf(item.status, item.installTargets);
  return progress.ending ?? progressLine(progress);
};

const COLUMNS = [
  { head: 'id', whole: true },
  { head: 'created', whole: true },
  { head: 'type' },
  { head: 'state' },
  { head: 'name' },
] as const;

const row = (item: DatasetItem): readonly string[] => [
  item.datasetId,
  item.created,
  `${item.type.name}@${item.type.version}`,
  state(item),
  item.name,
];

const describe = (item: DatasetItem & Record<string, unknown>): readonly (readonly [string, string])[] => [
  ['id', item.datasetId],
  ['name', item.name],
  ['summary', String(item.summary)],
  ['type', `${item.type.name}@${item.type.version}`],
  ['visibility', String(item.visibility)],
  ['created', item.created],
  ['targets', item.installTargets.join(', ')],
  ['state', state(item)],
];

/** Of each archive. */
const MOST_FILES = 20;

/** A line per file, with its SHA-256 if that is known. */
function filesOf({ files = {} }: ShownDataset): string {
  const lines = (['upload', 'install'] as const).flatMap((archive) => {
    const contents = files[archive]?.contents ?? [];
    const shown = contents.slice(0, MOST_FILES).map(({ fileName, fileSize, sha256 }) => {
      const digest = sha256 === undefined ? '' : `, sha256 ${sha256}`;
      return `  ${archive}: ${oneLine(fileName)}, ${fileSize} bytes${digest}`;
    });
    const left = contents.length - shown.length;
    return left > 0 ? [...shown, `  ${archive}: and ${left} more; --json prints all of them`] : shown;
  });
  return lines.length === 0 ? '' : `files\n${lines.join('\n')}\n`;
}

/** A line per step, and each of its messages in full: people have to read all of it. */
function stepsOf({ status, installTargets }: DatasetItem): string {
  const { steps } = progressOf(status, installTargets);
  const lines = steps.flatMap((step) => [
    `  ${oneLine(stepName(step))}: ${oneLine(step.status)}`,
    ...step.messages.map((message) => `    ${oneLine(message)}`),
  ]);
  return `steps\n${lines.join('\n')}\n`;
}
