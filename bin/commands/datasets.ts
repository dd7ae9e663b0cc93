// `longshore datasets list|show|download|revise|delete|undelete|share`.

import { basename } from 'node:path';
import { systemClock } from '../../engine/runtime/time.ts';
import { parse, suggestion } from '../cli/arguments.ts';
import { CLIENT_OPTIONS, CLIENT_USAGE, type ClientValues, openClient } from '../cli/client/client-options.ts';
import { progressLine, progressOf } from '../cli/client/dataset-progress.ts';
import { deadlineOf, FOLLOW_OPTIONS, FOLLOW_USAGE, type FollowValues, finishUpload } from '../cli/client/follow.ts';
import type { DatasetItem, UploadSource } from '../cli/client/installer-client.ts';
import { checkInputs, readDetails, showProgress, showUpload } from '../cli/client/transfer.ts';
import { type Command, type CommandIo, EXIT, type ExitCode, UsageError } from '../cli/command.ts';
import { listing, table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';

/** Of revise, delete, undelete and share: an owner's changes to an existing dataset. */
const CHANGE_OPTIONS = {
  ...FOLLOW_OPTIONS,
  note: { type: 'string' },
  origin: { type: 'string', default: 'direct-upload' },
  details: { type: 'string', path: 'file' },
  url: { type: 'string' },
  watch: { type: 'boolean', default: false },
  with: { type: 'string' },
  revoke: { type: 'boolean', default: false },
} as const;

const CHANGE_USAGE =
  `revise ID FILE.. --note TEXT [--details FILE.json] [--url URL] [--origin ..] [--watch ${FOLLOW_USAGE}] | ` +
  'delete ID | undelete ID | share ID --with USER [--revoke]';

const OPTIONS = {
  ...CLIENT_OPTIONS,
  ...CHANGE_OPTIONS,
  target: { type: 'string' },
  ownership: { type: 'string', values: ['any', 'owned', 'shared'] },
  install: { type: 'boolean', default: false },
  document: { type: 'string' },
  out: { type: 'string', path: 'file' },
} as const;

const ACTIONS = ['list', 'show', 'download', 'revise', 'delete', 'undelete', 'share'] as const;

export const datasets: Command = {
  name: 'datasets',
  usage:
    'longshore datasets list [--target ID] [--ownership any|owned|shared] | show ID | ' +
    `download ID [--install | --document NAME] [--out FILE] | ${CHANGE_USAGE}  ${CLIENT_USAGE}`,
  options: OPTIONS,
  words: ACTIONS,
  files: true,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const [action, ...rest] = positionals;
    switch (action) {
      case 'list': {
        if (rest.length > 0) throw new UsageError('list takes no ID');
        const query = {
          ...(values.target === undefined ? {} : { install_target: values.target }),
          ...(values.ownership === undefined ? {} : { ownership: values.ownership }),
        };
        const items = await (await openClient(values, io)).list(query, io.signal);
        io.out(values.json ? jsonDocument(items) : table(COLUMNS, items.map(row), io.outTerminal));
        return EXIT.ok;
      }
      case 'show': {
        const client = await openClient(values, io);
        const item = await client.show(one(rest), io.signal);
        io.out(values.json ? jsonDocument(item) : listing(describe(item), io.outTerminal));
        return EXIT.ok;
      }
      case 'download': {
        const id = one(rest);
        const { install, document } = values;
        if (install && document !== undefined) throw new UsageError('--install and --document cannot be combined');
        const which = document === undefined ? (install ? 'install' : 'upload') : { document };
        const name = document === undefined ? `${basename(id)}-${install ? 'data' : 'upload'}.zip` : basename(document);
        const file = values.out ?? name;
        const client = await openClient(values, io);
        using progress = showProgress({ label: basename(file), unit: 'bytes' }, values, io, systemClock);
        await client.download(id, which, file, (bytes, total) => progress.at(bytes, total), io.signal);
        progress.finish();
        io.out(values.json ? jsonLine({ datasetId: id, file }) : `${file}\n`);
        return EXIT.ok;
      }
      case 'revise': {
        const [id, ...files] = rest;
        return revise(one(id === undefined ? [] : [id]), files, values, io);
      }
      case 'delete':
        return remove(one(rest), values, io);
      case 'undelete':
        return undelete(one(rest), values, io);
      case 'share':
        return share(one(rest), values, io);
      default:
        throw new UsageError(
          `'${action ?? ''}' is not an action; expected one of: ${ACTIONS.join(', ')}${suggestion(action ?? '', ACTIONS)}`,
        );
    }
  },
};

function one(rest: readonly string[]): string {
  const [id, ...more] = rest;
  if (id === undefined || more.length > 0) throw new UsageError('expected one dataset ID');
  return id;
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

interface ChangeValues extends ClientValues, FollowValues {
  readonly note?: string | undefined;
  readonly origin: string;
  readonly details?: string | undefined;
  readonly url?: string | undefined;
  readonly watch: boolean;
  readonly with?: string | undefined;
  readonly revoke: boolean;
}

/** Uploads a new revision and prints its id. `--details` contains the changes, as in a PATCH: `{"name": {"value": ..}}`. */
async function revise(id: string, files: readonly string[], values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  if (values.note === undefined) throw new UsageError('--note TEXT is required: what is new in this revision');
  await checkInputs(files, values.url);
  deadlineOf(values);
  const changes = await readDetails(values.details);
  const details = { origin: values.origin, ...changes, revisionNote: values.note };
  const client = await openClient(values, io);
  const send = (source: UploadSource) => client.revise(id, details, source, io.signal);
  const revision = await showUpload(files, values.url, send, values, io, systemClock);
  return finishUpload(client, revision, values, io);
}

async function remove(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  await (await openClient(values, io)).delete(id, io.signal);
  return done(id, 'deleted', values, io);
}

async function undelete(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  await (await openClient(values, io)).undelete(id, io.signal);
  return done(id, 'undeleted', values, io);
}

async function share(id: string, values: ChangeValues, io: CommandIo): Promise<ExitCode> {
  const { with: user, revoke } = values;
  if (user === undefined) throw new UsageError('--with USER is required: the id of the other user');
  await (await openClient(values, io)).offer(id, user, revoke ? 'revoke' : 'grant', io.signal);
  return done(id, revoke ? `no longer offered to ${user}` : `offered to ${user}`, values, io);
}

function done(id: string, what: string, values: ChangeValues, io: CommandIo): ExitCode {
  io.out(values.json ? jsonLine({ datasetId: id }) : `${id} ${what}\n`);
  return EXIT.ok;
}
