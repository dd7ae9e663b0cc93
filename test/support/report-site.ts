// The report job service of the running program: `serve` with little else, on a database of the test's, with a formatter
// that the test may stand in front of.

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fetch } from 'undici';
import { stringify } from 'yaml';
import { QUERY_PROGRAMS } from '../../engine/model/report/query-job.ts';
import { issueToken, newKeyPair } from '../../http/kernel/auth/local-issuer.ts';
import { testDatabase } from './database.ts';
import { freePortBase, type Running, running, tempDir } from './longshore.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

export interface ReportAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** Undefined when it is no JSON. */
  readonly body: unknown;
}

export interface JobDetails {
  readonly reportJobID: string;
  readonly queryJobID: string;
  readonly status: string;
}

export interface ReportSite {
  readonly dir: string;
  /** For `longshore query run --config`. */
  readonly config: string;
  /** Where databases are found by name. */
  readonly databases: string;
  readonly queryJobs: string;
  readonly base: string;
  start(): Promise<Running>;
  call(method: string, path: string, body?: object): Promise<ReportAnswer>;
  /** The id of the job. */
  submit(queryJobID: string, blastConfig: object): Promise<string>;
  /** Waits until it is complete or has failed. */
  ended(id: string): Promise<string>;
  /** Of a complete job, by name. */
  files(id: string): Promise<ReadonlyMap<string, Buffer>>;
  stderr(id: string): Promise<string>;
  /** Lines of the shell that whatever is called `blast_formatter` does first. */
  before(script: string): Promise<void>;
  /** How often it was called. */
  runs(): Promise<number>;
}

const USER = '7';
const POLL_MS = 10;

/**
 * Not started yet.
 * @param formatter what the shell runs in the place of the program, with its arguments
 */
export async function reportSite(
  t: Teardown,
  formatter: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<ReportSite> {
  const dir = await tempDir(t);
  const [databases, queryJobs, bin] = [join(dir, 'databases'), join(dir, 'query jobs'), join(dir, 'bin')];
  for (const made of [databases, queryJobs, bin]) await mkdir(made);
  const [before, runs] = [join(bin, 'before'), join(bin, 'runs')];
  await writeFile(before, '');
  await writeFile(runs, '');
  const script = `#!/bin/sh\necho >>'${runs}'\n. '${before}'\n${formatter}\n`;
  await writeFile(join(bin, 'blast_formatter'), script, { mode: 0o755 });
  for (const program of Object.keys(QUERY_PROGRAMS)) await symlink(`/usr/bin/${program}`, join(bin, program));
  const keys = await newKeyPair();
  await writeFile(join(dir, 'key.pub.pem'), keys.publicKeyPem);
  const port = await freePortBase();
  const db = await testDatabase(t);
  const config = join(dir, 'longshore.yaml');
  const dataTypes = [{ name: 'none', version: '1.0', category: 'None' }];
  const document = {
    containerCore: {
      authentication: {
        adminToken: 'a'.repeat(40),
        oauth: { issuer: 'longshore-local', publicKeyFile: 'key.pub.pem' },
      },
      http: { bindHost: '127.0.0.1' },
      ports: { installer: port, report: port + 2 },
    },
    installer: {
      cacheDb: {
        server: { host: db.host, port: db.port },
        username: db.user,
        password: db.password,
        name: db.database,
      },
      objectStore: { driver: 'directory', path: 'store' },
      logBroker: { driver: 'postgres' },
      queueBroker: { driver: 'postgres' },
      siteBuild: 'build-1',
      plugins: { none: { server: { host: '127.0.0.1', port: port + 4 }, installRoot: 'installed', dataTypes } },
      installTargets: [{ targetId: 'SiteA', enabled: false }],
    },
    report: { queryJobs: { root: 'query jobs' }, blastDb: 'databases', blastBin: 'bin', ...settings },
  };
  await writeFile(config, stringify(document), { mode: 0o600 });
  const base = `http://127.0.0.1:${port + 2}`;
  const token = await issueToken({
    ...{ privateKeyPem: keys.privateKeyPem, issuer: 'longshore-local', subject: USER },
    ...{ claims: { guest: false }, lifetimeSeconds: 3_600 },
  });
  const call: ReportSite['call'] = async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const { status, headers } = response;
    return { status, headers, bytes, body: isJson && bytes.length > 0 ? parsed(bytes) : undefined };
  };
  const ok = async (path: string): Promise<ReportAnswer> => {
    const answer = await call('GET', path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.bytes}`);
    return answer;
  };
  return {
    ...{ dir, config, databases, queryJobs, base, call },
    start: () => running(t, ['serve', '--config', config]),
    async submit(queryJobID, blastConfig) {
      const answer = await call('POST', '/jobs', { queryJobID, blastConfig });
      if (answer.status !== 200) throw new Error(`${JSON.stringify(blastConfig)}: ${answer.status} ${answer.bytes}`);
      return (answer.body as JobDetails).reportJobID;
    },
    async ended(id) {
      for (;;) {
        const { status } = (await ok(`/jobs/${id}`)).body as JobDetails;
        if (status === 'complete' || status === 'failed') return status;
        // What is waited for needs the processors as well.
        await setTimeout(POLL_MS);
      }
    },
    async files(id) {
      const files = new Map<string, Buffer>();
      for (const { name, size } of (await ok(`/jobs/${id}/files`)).body as { name: string; size: number }[]) {
        const { bytes } = await ok(`/jobs/${id}/files/${name}`);
        if (bytes.length !== size) throw new Error(`${name} has ${bytes.length} bytes, and is listed with ${size}`);
        files.set(name, bytes);
      }
      return files;
    },
    stderr: async (id) => (await ok(`/jobs/${id}/stderr`)).bytes.toString(),
    before: (script) => writeFile(before, script),
    runs: async () => (await readFile(runs)).length,
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}
