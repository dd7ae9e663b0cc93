// The report job service of the running program as its contract's tests know it, with a formatter that does what the result
// of the query tells it: `fail`, `wait PIPE`, or anything else, which becomes a part of every file that it writes.

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../bin/compose/embedded-config.ts';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { LOCAL_ISSUER } from '../../engine/model/ids.ts';
import {
  QUERY_PROGRAMS,
  type QueryJobId,
  type QueryProgram,
  type QueryStatus,
  serialiseQueryJob,
} from '../../engine/model/report/query-job.ts';
import { issueToken } from '../../http/kernel/auth/local-issuer.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { type Answer, ContractClient } from './client.ts';
import { NO_PLUGIN } from './no-plugin.ts';
import { Recorder } from './recorder.ts';
import type { ReportRowId } from './report.ts';

export type Body = Record<string, unknown>;
export interface Person {
  readonly id: number;
  readonly token: string;
  readonly client: ContractClient;
}

export interface QuerySpec {
  /** What the formatter is told. */
  readonly archive?: string;
  readonly program?: QueryProgram;
  readonly status?: QueryStatus;
  /** Name of the database. */
  readonly database?: string;
}

export interface ReportWorld {
  readonly as: (headers: Readonly<Record<string, string>>) => ContractClient;
  readonly dir: string;
  readonly recorder: Recorder;
  readonly admin: ContractClient;
  readonly nobody: ContractClient;
  /** Somebody new. */
  person(guest?: boolean): Promise<Person>;
  /** A query job of its own; returns its id. */
  query(spec?: QuerySpec): Promise<QueryJobId>;
  /** Makes a database, or makes it anew. */
  database(name: string): Promise<void>;
  /** Asks for a report, which must be accepted; returns its id. */
  create(who: Person, queryJobID: string, more?: object): Promise<string>;
  /** Waits until the job has that status; fails when it ends otherwise. */
  becomes(id: string, status: string): Promise<void>;
  /** A new job that is complete. */
  complete(who: Person, blastConfig?: object, spec?: QuerySpec): Promise<string>;
  /** How the formatter was called last for what tells it this, whatever else it was called for meanwhile. */
  lastCall(told: string): Promise<readonly string[]>;
  /** The test of a row of the contract. */
  row(id: ReportRowId, facts: (t: Test) => Promise<unknown>): void;
}

/** After which a failed job runs again; at once, so that nobody has to wait. */
const RETRY_AFTER = '0s';
export const FAILURE = 'blast_formatter ended with exit code 3';

/** Writes `text: what it was told` to every file; the types 13 and 14 have one for each of two queries. */
const FORMATTER = `#!/bin/sh -eu
call=$(printf '%s\\n' "$@")
while [ $# -gt 0 ]; do
  case $1 in
    -archive) archive=$2 ;;
    -out) out=$2 ;;
    -outfmt) format=\${2%% *} ;;
  esac
  shift
done
read -r told rest <"$archive" || :
printf '%s\\n' "$call" >"$CALLS/$told"
case $told in
  fail) echo 'Error: told to' >&2; exit 3 ;;
  wait) read -r _ <"$rest" ;;
esac
echo 'Warning: it is only told' >&2
echo "\\"$told\\"" >"$out"
case $format in
  13) extension=json ;;
  14) extension=xml ;;
  *) exit 0 ;;
esac
for n in 1 2; do echo "\\"$told of $n\\"" >"\${out}_$n.$extension"; done
`;

export async function reportWorld(t: Test): Promise<ReportWorld> {
  const dir = await tempDir(t);
  const base = await freePortBase();
  const { blastDb, queryJobs } = dataDir(dir);
  const [bin, calls] = [join(dir, 'blast-bin'), join(dir, 'last-calls')];
  for (const made of [bin, calls, blastDb, queryJobs]) await mkdir(made, { recursive: true });
  await writeFile(join(bin, 'blast_formatter'), FORMATTER.replace('$CALLS', calls), { mode: 0o755 });
  const config = parse(embeddedConfig(dataDir(dir), base, [NO_PLUGIN])) as { report: object };
  Object.assign(config.report, { blastBin: bin, retryAfter: RETRY_AFTER });
  await writeFile(join(dir, 'config.yaml'), stringify(config), { mode: 0o600 });
  const app = await up(t, dir, ['--port-base', String(base)]);
  const { report: url, adminToken } = app.endpoints;
  const recorder = await Recorder.of('report', url);
  t.teardown(() => recorder.save());
  const as = (headers: Readonly<Record<string, string>>): ContractClient => new ContractClient(url, headers, recorder);
  const admin = as({ 'admin-token': adminToken });
  const privateKeyPem = await readFile(dataDir(dir).tokenKey, 'utf8');
  let people = 100;
  const databases = new BlastDatabaseFiles({ searchPath: [blastDb] });

  const world: ReportWorld = {
    ...{ dir, recorder, admin, as },
    nobody: as({}),
    async person(guest = false) {
      const id = ++people;
      const subject = { privateKeyPem, issuer: LOCAL_ISSUER, subject: String(id), lifetimeSeconds: 3_600 };
      const token = await issueToken({ ...subject, claims: { guest } });
      return { id, token, client: as({ authorization: `Bearer ${token}` }) };
    },
    async query({ archive = 'result', program = 'blastn', status = 'complete', database = 'flies' } = {}) {
      const id = randomUUID().replaceAll('-', '') as QueryJobId;
      const names = [database];
      const fingerprint = await databases.fingerprint(names, QUERY_PROGRAMS[program], new AbortController().signal);
      await mkdir(join(queryJobs, id));
      await writeFile(join(queryJobs, id, 'report.asn1'), `${archive}\n`);
      const job = { id, program, databases: names, fingerprint, status };
      await writeFile(join(queryJobs, id, 'job.json'), serialiseQueryJob(job));
      return id;
    },
    async database(name) {
      for (const extension of ['nin', 'nhr', 'nsq', 'pin', 'phr', 'psq'])
        await writeFile(join(blastDb, `${name}.${extension}`), randomUUID());
    },
    async create(who, queryJobID, more = {}) {
      const answer = await who.client.send('POST', '/jobs', { queryJobID, ...more });
      return bodyOf(answer).reportJobID as string;
    },
    async becomes(id, status) {
      for (const begun = Date.now(); ; await new Promise((resolve) => setTimeout(resolve, 20))) {
        const found = bodyOf(await admin.get(`/jobs/${id}`)).status;
        if (found === status) return;
        if (found === 'complete' || found === 'failed' || Date.now() - begun > 60_000)
          throw new Error(`report job ${id} is ${found}, not ${status}`);
      }
    },
    async complete(who, blastConfig = {}, spec = {}) {
      const id = await world.create(who, await world.query(spec), { blastConfig });
      await world.becomes(id, 'complete');
      return id;
    },
    lastCall: async (told) => (await readFile(join(calls, told), 'utf8')).trimEnd().split('\n'),
    row: (id, facts) => void t.test(id, facts),
  };
  await world.database('flies');
  return world;
}

/** The body of a 200. */
export function bodyOf({ status, body, text }: Answer): Body {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body as Body;
}
export const listOf = (answer: Answer): readonly Body[] => bodyOf(answer) as unknown as Body[];

/** Keys of the faults of a 422; of what was accepted, `accepted`. */
export function faultsOf({ status, body, text }: Answer): readonly string[] | 'accepted' {
  if (status === 200 || status === 204) return 'accepted';
  if (status !== 422) throw new Error(`neither accepted nor invalid: ${status} ${text}`);
  return Object.keys((body as { errors: { byKey: object } }).errors.byKey).sort();
}
