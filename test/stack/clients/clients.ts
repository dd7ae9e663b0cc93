// One upload of files from the disk, by the clients that people use.

import { execFile } from 'node:child_process';
import { openAsBlob } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { FormData, fetch } from 'undici';
import { CLIENT_FORMS } from '../../fixtures/client-forms.ts';
import { HTTP_CLIENTS } from '../python-packages.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Sent {
  /** The installer's. */
  readonly base: string;
  readonly token: string;
  readonly details: string;
  /** Paths. */
  readonly files: readonly string[];
}

export type Upload = (sent: Sent) => Promise<Answer>;

export const uploads = (browser: Browser): Readonly<Record<string, Upload>> => ({
  curl: (sent) => byCurl(sent, []),
  'curl --form-escape': (sent) => byCurl(sent, ['--form-escape']),
  'Python requests': (sent) => byPython('requests', sent),
  'Python httpx': (sent) => byPython('httpx', sent),
  'Java HttpClient': byJava,
  'Node fetch': byNode,
  Chromium: (sent) => byBrowser(browser, sent),
  ...Object.fromEntries(
    Object.entries(CLIENT_FORMS).map(([client, disposition]) => [
      `${client}, written here`,
      (sent: Sent) => asWritten(disposition, sent),
    ]),
  ),
});

async function program(file: string, args: readonly string[]): Promise<Answer> {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', no_proxy: '127.0.0.1,localhost' };
  const { stdout } = await promisify(execFile)(file, args, { env });
  const [, status, body = ''] = /^(\d{3}) (.*)/s.exec(stdout) ?? [];
  if (status === undefined) throw new Error(`${file}: ${stdout}`);
  return { status: Number(status), body };
}

/** In a quoted path curl reads a backslash before a quote or a backslash as an escape. */
async function byCurl({ base, token, details, files }: Sent, options: readonly string[]): Promise<Answer> {
  const forms = files.flatMap((file) => ['-F', `dataFile=@"${file.replace(/["\\]/g, '\\$&')}"`]);
  const { stdout } = await promisify(execFile)('/usr/bin/curl', [
    ...['-sS', '-w', '\n%{http_code}', '-H', `Authorization: Bearer ${token}`, ...options],
    ...['--form-string', `details=${details}`, ...forms, `${base}/datasets`],
  ]);
  const at = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(at)), body: stdout.slice(0, at) };
}

const byPython = (client: string, { base, token, details, files }: Sent): Promise<Answer> =>
  program(HTTP_CLIENTS.python, [
    join(import.meta.dirname, 'upload.py'),
    ...[client, `${base}/datasets`, token, details, ...files],
  ]);

const byJava: Upload = ({ base, token, details, files }) =>
  program('/usr/bin/java', [
    // Names of files are in the encoding of the locale, and Java 17 knows UTF-8 by a name of its own.
    ...['-Dsun.jnu.encoding=UTF-8', '-Dfile.encoding=UTF-8', join(import.meta.dirname, 'Upload.java')],
    ...[`${base}/datasets`, token, details, ...files],
  ]);

const byNode: Upload = async ({ base, token, details, files }) => {
  const form = new FormData();
  form.append('details', details);
  for (const file of files) form.append('dataFile', await openAsBlob(file), basename(file));
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/datasets`, { method: 'POST', body: form, headers });
  return { status: response.status, body: await response.text() };
};

/** A script of the page sends the form: a form alone cannot bring a token along. */
async function byBrowser(browser: Browser, { base, token, details, files }: Sent): Promise<Answer> {
  // Our answers allow a page nothing: it stands for one of a site's own.
  const page = await browser.newPage({ bypassCSP: true });
  try {
    await page.goto(`${base}/health`);
    await page.setContent('<form><input name="details"><input type="file" name="dataFile" multiple></form>');
    await page.fill('[name=details]', details);
    await page.setInputFiles('[name=dataFile]', files);
    const script = `(async () => {
      const body = new FormData(document.querySelector('form'));
      const headers = { authorization: ${JSON.stringify(`Bearer ${token}`)} };
      const response = await fetch(${JSON.stringify(`${base}/datasets`)}, { method: 'POST', body, headers });
      return { status: response.status, body: await response.text() };
    })()`;
    return (await page.evaluate(script)) as Answer;
  } finally {
    await page.close();
  }
}

async function asWritten(
  disposition: (name: string) => string,
  { base, token, details, files }: Sent,
): Promise<Answer> {
  const parts = files.map((file) => `Content-Disposition: ${disposition(basename(file))}\r\n\r\nx`);
  const all = [`Content-Disposition: form-data; name="details"\r\n\r\n${details}`, ...parts];
  const body = Buffer.from(`${all.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`, 'latin1');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=b' };
  const response = await fetch(`${base}/datasets`, { method: 'POST', body, headers });
  return { status: response.status, body: await response.text() };
}
