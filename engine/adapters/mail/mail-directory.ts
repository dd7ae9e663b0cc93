// Mails as files, for a machine without a mail server: `{key}.eml` as it would be sent, and `{key}.json` for programs. A mail
// that is sent again replaces its files.

import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mail, Mailer } from '../../ports/mail.ts';
import { defect, messageOf, transient } from '../../runtime/failure.ts';
import { writeWhole } from '../../runtime/files.ts';

export type StoredMail = Omit<Mail, 'date' | 'html' | 'replyTo'> & { readonly date: string; readonly file: string };

export class MailDirectory implements Mailer {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async send(mail: Mail, signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    const [, key] = /^<([\w-]+)@/.exec(mail.messageId) ?? [];
    if (key === undefined) throw defect(`the Message-ID ${mail.messageId} has no key`);
    const { html: _html, replyTo: _replyTo, ...told } = mail;
    const file = join(this.#path, `${key}.eml`);
    const stored: StoredMail = { ...told, date: mail.date.toISOString(), file };
    await this.probe(signal);
    try {
      await writeWhole(file, await composed(mail), 0o600);
      // Written last: when a mail is listed, its file exists.
      await writeWhole(join(this.#path, `${key}.json`), Buffer.from(`${JSON.stringify(stored, null, 2)}\n`), 0o600);
      return [];
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  async probe(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    try {
      await mkdir(this.#path, { recursive: true, mode: 0o700 });
    } catch (cause) {
      throw this.#away(cause);
    }
  }

  #away(cause: unknown): Error {
    return transient(`mail directory ${this.#path}: ${messageOf(cause)}`, { cause, unreachable: true });
  }
}

/** Oldest first; empty if there is no directory. */
export async function listMails(path: string): Promise<readonly StoredMail[]> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw transient(`mail directory ${path}: ${error.message}`, { cause: error });
  });
  const mails: StoredMail[] = [];
  for (const name of names.filter((one) => one.endsWith('.json')))
    mails.push(JSON.parse(await readFile(join(path, name), 'utf8')) as StoredMail);
  return mails.sort((a, b) => (a.date === b.date ? (a.messageId < b.messageId ? -1 : 1) : a.date < b.date ? -1 : 1));
}

async function composed({ to, cc, replyTo, ...rest }: Mail): Promise<Buffer> {
  // Loaded with the first mail: most processes never write one.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
  const { message } = await transport.sendMail({
    ...rest,
    to: [...to],
    cc: [...cc],
    ...(replyTo === undefined ? {} : { replyTo }),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  if (!Buffer.isBuffer(message)) throw defect('the mail was not composed into a buffer');
  return message;
}
