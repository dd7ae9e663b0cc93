// `longshore access`: tasks of the operators of the dataset access service that its API does not offer.

import { listMails } from '../../engine/adapters/mail/mail-directory.ts';
import { parse } from '../cli/arguments.ts';
import { type Command, type CommandIo, EXIT, UsageError } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { table } from '../cli/terminal/table.ts';
import { jsonDocument, jsonLine } from '../cli/terminal/text.ts';
import { importCatalogue } from '../compose/access-database.ts';
import { dataDir, defaultDataPath } from '../compose/data-dir.ts';

const OPTIONS = {
  data: { type: 'string', path: 'directory' },
  config: { type: 'string', path: 'file' },
  json: { type: 'boolean', default: false },
} as const;

export const access: Command = {
  name: 'access',
  usage: 'longshore access import FILE [--data DIR | --config FILE] [--json] | access mail [--data DIR] [--json]',
  options: OPTIONS,
  words: ['import', 'mail'],
  files: true,
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    const [verb, file, ...rest] = positionals;
    const dir = dataDir(values.data ?? defaultDataPath(process.getuid?.()));
    if (verb === 'mail' && file === undefined && values.config === undefined) {
      await printMails(dir.mail, values.json, io);
      return EXIT.ok;
    }
    if (verb !== 'import' || file === undefined || rest.length > 0)
      throw new UsageError("expected 'import' and one FILE, or 'mail'");
    if (values.data !== undefined && values.config !== undefined)
      throw new UsageError('--data and --config cannot be combined');
    const configuration = await loadConfig(values.config ?? dir.config, io);
    const { read, changed } = await importCatalogue(configuration, file, io.signal);
    io.out(values.json ? jsonLine({ read, changed }) : `${read} datasets read, ${changed} new or changed\n`);
    return EXIT.ok;
  },
};

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
