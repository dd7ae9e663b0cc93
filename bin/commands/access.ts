// `longshore access`: tasks of the operators of the dataset access service that its API does not offer.

import { listMails } from '../../engine/adapters/mail/mail-directory.ts';
import { implement } from '../cli/arguments.ts';
import { type Command, type CommandIo, EXIT, UsageError } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import { ACCESS_IMPORT, ACCESS_MAIL, ACCESS_RETRY_MAILS } from '../cli/tree/machine.ts';
import { importCatalogue, settleDeadMails } from '../compose/access-database.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

export const importStudies: Command = implement(ACCESS_IMPORT, async ({ values, args: { file } }, io) => {
  const configuration = await configurationOf(values, io);
  const { read, changed } = await importCatalogue(configuration, file, io.signal);
  io.out(values.json ? jsonLine({ read, changed }) : `${read} datasets read, ${changed} new or changed\n`);
  return EXIT.ok;
});

export const retryMails: Command = implement(ACCESS_RETRY_MAILS, async ({ values }, io) => {
  const what = values.discard ? 'discard' : 'retry';
  const mails = await settleDeadMails(await configurationOf(values, io), what, io.signal);
  const done = what === 'retry' ? 'will be sent again' : 'removed';
  io.out(values.json ? jsonLine({ mails }) : `${mails} ${mails === 1 ? 'mail' : 'mails'} ${done}\n`);
  return EXIT.ok;
});

function configurationOf(
  { data, config }: { readonly data?: string | undefined; readonly config?: string | undefined },
  io: CommandIo,
): ReturnType<typeof loadConfig> {
  if (data !== undefined && config !== undefined) throw new UsageError('--data and --config cannot be combined');
  return loadConfig(config ?? place(data).config, io);
}

export const mail: Command = implement(ACCESS_MAIL, async ({ values }, io) => {
  await printMails(place(values.data).mail, values.json, io);
  return EXIT.ok;
});

const place = (data: string | undefined) => dataDir(data ?? defaultDataPath(process.getuid?.()));

const MAIL_COLUMNS = [
  { head: 'date', whole: true },
  { head: 'to' },
  { head: 'copies' },
  { head: 'subject' },
  { head: 'file', whole: true },
] as const;

async function printMails(path: string, asJson: boolean, io: CommandIo): Promise<void> {
  const mails = await listMails(path);
  if (asJson) {
    io.out(jsonDocument(mails));
    return;
  }
  const rows = mails.map(({ date, to, cc, subject, file }) => [date, to.join(', '), cc.join(', '), subject, file]);
  io.out(table(MAIL_COLUMNS, rows, io.outTerminal));
}
