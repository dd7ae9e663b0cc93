// `longshore datasets list|show|download|revise|delete|undelete|share`.

import { basename } from 'node:path';
import { systemClock } from '../../engine/runtime/time.ts';
import { parse } from '../cli/arguments.ts';
import { CLIENT_OPTIONS, CLIENT_USAGE, openClient } from '../cli/client/client-options.ts';
import { progressLine, progressOf } from '../cli/client/dataset-progress.ts';
import type { DatasetItem } from '../cli/client/installer-client.ts';
import { showProgress } from '../cli/client/show-transfer.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { suggestion } from '../cli/nearest.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/json-text.ts';
import { listing, table } from '../cli/terminal/table.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CHANGE_OPTIONS, CHANGE_USAGE, remove, revise, share, undelete } from './dataset-changes.ts';

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
