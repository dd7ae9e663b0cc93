// The handler service of the running program as its contract's tests know it. An upload brings the scripts that its job
// runs: `run.sh`, which gets every template variable, then `then.sh` if it is there, under a short limit, then a program
// that the test may take away.

import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Headers } from 'undici';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../bin/compose/embedded-config.ts';
import { type Files, zipOf } from '../fixtures/archives.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { type Answer, type CallInit, ContractClient } from './client.ts';
import type { HandlerRowId } from './handler.ts';
import { NO_PLUGIN } from './no-plugin.ts';
import { Recorder } from './recorder.ts';

export const OWNER = 42;
/** Of `then.sh`. */
export const SHORT_LIMIT = '2s';
/** What `run.sh` gets; the last one makes as many arguments as there are files. */
export const TEMPLATES = [
  '<<cwd>>',
  '<<date>>',
  '<<date-time>>',
  '<<time>>',
  '<<timestamp>>',
  '<<ds-description>>',
  '<<ds-name>>',
  '<<ds-summary>>',
  '<<ds-user-id>>',
  '<<ds-origin>>',
  '<<projects>>',
  '<<handler-params.word>>',
  '"<<handler-params.word>>"',
  '<<ds-user-id>>:<<ds-origin>>;<<handler-params.word>>',
  '<<no-such-variable>>',
  '<<input-files[0]>>',
  '"<<input-files>>"',
  '<<input-files>>',
] as const;

export interface HandlerWorld {
  readonly dir: string;
  readonly port: number;
  readonly pid: number;
  readonly recorder: Recorder;
  /** Where jobs have their folders. */
  readonly workDir: string;
  /** The last program of every job. */
  readonly lastProgram: string;
  readonly client: ContractClient;
  as(headers: Readonly<Record<string, string>>): ContractClient;
  /** The test of a row of the contract. */
  row(id: HandlerRowId, facts: (t: Test) => Promise<unknown>): void;
  put(jobId: string, metadata?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  post(jobId: string, body: NonNullable<CallInit['body']>, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Registers and uploads. */
  job(jobId: string, files: Files, metadata?: object): Promise<Answer>;
  status(jobId: string): Promise<Readonly<Record<string, unknown>>>;
  /** One request of these head lines and this body, as bytes. */
  raw(method: string, path: string, lines: readonly string[], body?: string | Buffer): Promise<Answer>;
}

export const metadata = (changes: object = {}): object => ({
  projects: ['AlphaDB'],
  owner: OWNER,
  name: 'My data',
  handlerParams: { word: 'w' },
  ...changes,
});

export const pathOf = (jobId: string, tail = ''): string => `/job/${encodeURIComponent(jobId)}${tail}`;

/** @param handler keys of the configuration's `handler` */
export async function handlerWorld(t: Test, handler: object = {}): Promise<HandlerWorld> {
  const dir = await tempDir(t);
  const base = await freePortBase();
  const lastProgram = join(dir, 'bin', 'last');
  await mkdir(join(dir, 'bin'), { recursive: true });
  await writeFile(lastProgram, '#!/bin/sh\n');
  await chmod(lastProgram, 0o755);
  const sh = (...args: readonly string[]): object => ({ command: '/bin/sh', arguments: args });
  const config = parse(embeddedConfig(dataDir(dir), base, [NO_PLUGIN])) as { handler: object };
  Object.assign(config.handler, {
    commands: [
      sh('-eu', 'run.sh', ...TEMPLATES),
      { ...sh('-euc', '[ ! -e then.sh ] || exec sh -eu then.sh'), maxDuration: SHORT_LIMIT },
      { command: lastProgram, arguments: [] },
    ],
    ...handler,
  });
  await writeFile(join(dir, 'config.yaml'), stringify(config), { mode: 0o600 });
  const app = await up(t, dir, ['--port-base', String(base)]);
  const { handler: url, pid } = app.endpoints;
  const recorder = await Recorder.of('handler', url);
  t.teardown(() => recorder.save());
  const as = (headers: Readonly<Record<string, string>>): ContractClient => new ContractClient(url, headers, recorder);
  const client = as({});
  const put: HandlerWorld['put'] = (jobId, body = metadata(), headers = {}) =>
    client.send('PUT', pathOf(jobId), body, headers);
  const post: HandlerWorld['post'] = (jobId, body, headers = {}) =>
    client.call('POST', pathOf(jobId), { headers: { 'content-type': 'application/binary', ...headers }, body });
  return {
    dir,
    port: base + 1,
    pid,
    recorder,
    workDir: join(dir, 'scratch', 'handler', 'work'),
    lastProgram,
    client,
    as,
    row: (id, facts) => void t.test(id, facts),
    put,
    post,
    async job(jobId, files, about) {
      const { status, text } = await put(jobId, about);
      if (status !== 204) throw new Error(`PUT ${jobId}: ${status} ${text}`);
      return post(jobId, await zipOf(files));
    },
    status: async (jobId) =>
      (await client.get(pathOf(jobId, '/status'))).body as Awaited<ReturnType<HandlerWorld['status']>>,
    async raw(method, path, lines, body = '') {
      const head = [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines, '', ''].join('\r\n');
      const answer = parsedAnswer(await exchange(base + 1, [Buffer.from(head), Buffer.from(body)]));
      recorder.check(method, path, answer);
      return answer;
    },
  };
}

function exchange(port: number, chunks: readonly Buffer[]): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  const got: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => got.push(chunk));
  // A reset after the answer is how a server ends what it does not want to read.
  socket.on('error', () => undefined);
  for (const chunk of chunks) socket.write(chunk);
  return new Promise((resolve) => socket.once('close', () => resolve(Buffer.concat(got))));
}

/** Of a whole answer on its own, with what came before it by `100 Continue` left out. */
export function parsedAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const rest = bytes.subarray(end + 4);
  const status = Number(first.split(' ')[1]);
  if (end < 0 || !Number.isInteger(status)) throw new Error(`no answer: ${bytes.toString('latin1').slice(0, 200)}`);
  if (status === 100) return parsedAnswer(rest);
  const headers = new Headers(
    lines.map((line): [string, string] => /^([^:]+): *(.*)$/.exec(line)?.slice(1) as [string, string]),
  );
  const text = rest.toString();
  const json = /json/.test(headers.get('content-type') ?? '') && text !== '';
  return { status, headers, text, bytes: rest, body: json ? JSON.parse(text) : undefined };
}
