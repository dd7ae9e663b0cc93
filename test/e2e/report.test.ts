// The report job service of the running program, where BLAST+ is not installed: all but the formatter itself.

import { execFileSync } from 'node:child_process';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { BlastDatabaseFiles } from '../../engine/adapters/blast/blast-database.ts';
import { QueryJobsDirectory } from '../../engine/adapters/blast/query-jobs-directory.ts';
import type { QueryJobId } from '../../engine/model/report/query-job.ts';
import { systemClock } from '../../engine/runtime/time.ts';
import { testDatabase } from '../support/database.ts';
import { freePortBase, longshore, processesBelow, tempDir, up } from '../support/longshore.ts';
import { type ReportSite, reportSite } from '../support/report-site.ts';
import { unzip } from '../support/unzip.ts';

const signal = new AbortController().signal;
const QUERY = 'ab'.repeat(16) as QueryJobId;
const TABULAR = { formatType: 'tabular' };
/** Copies what it reads, so that it is seen what was read. */
const COPY = 'while [ "$1" != -archive ]; do shift; done; cat "$2" >report.tsv';

/** A query job of a database that nobody looks into, and the service on it. */
async function started(t: Test, settings: object = {}) {
  const site = await reportSite(t, COPY, { ...settings });
  for (const extension of ['nin', 'nhr', 'nsq']) await writeFile(join(site.databases, `db.${extension}`), extension);
  const databases = ['db'];
  const fingerprint = await new BlastDatabaseFiles({ searchPath: [site.databases] }).fingerprint(
    databases,
    'nucleotide',
    signal,
  );
  await using folder = await new QueryJobsDirectory({ root: site.queryJobs }).begin(systemClock);
  await writeFile(folder.archive, 'the result\n');
  await folder.keep({ id: QUERY, program: 'blastn', databases, fingerprint, status: 'complete' });
  return { site, service: await site.start() };
}

const healthOf = async (site: Pick<ReportSite, 'base'>) =>
  (await (await fetch(`${site.base}/health`)).json()) as {
    status: string;
    dependencies: { name: string; online: string }[];
  };

t.test('up has the service, whether or not there is a formatter', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const base = app.endpoints.report;
  const { dependencies } = await healthOf({ base });
  t.strictSame(
    dependencies.map(({ name }) => name),
    ['report-db', 'query-jobs', 'blast_formatter', 'object-store', 'disks'],
  );
  const headers = { authorization: `Bearer ${await app.token('7')}`, 'content-type': 'application/json' };
  t.equal((await fetch(`${base}/jobs`)).status, 401);
  t.strictSame(await (await fetch(`${base}/jobs`, { headers })).json(), []);
  const body = JSON.stringify({ queryJobID: QUERY });
  const refused = await fetch(`${base}/jobs`, { method: 'POST', headers, body });
  t.strictSame(
    [refused.status, await refused.json()],
    [
      422,
      {
        status: 'invalid-input',
        message: 'the request holds values that are not accepted; see errors',
        errors: { general: [], byKey: { queryJobID: ['is no query job'] } },
      },
    ],
  );
  t.match(await (await fetch(`${base}/api`)).text(), /Longshore report/);
  t.match(await (await fetch(`${base}/api/openapi.json`)).text(), /createReportJob/);
  t.match(await (await fetch(`${base}/metrics`)).text(), /^longshore_lane_workers\{lane="report"\} 4$/m);
  t.strictSame((await readdir(dir)).filter((name) => /^(query-jobs|blast)$/.test(name)).sort(), [
    'blast',
    'query-jobs',
  ]);
  t.equal(await app.stop(), 0);
});

t.test('without the formatter everything else answers, and a job fails and says why', async (t) => {
  const { host, port, user, password, database } = await testDatabase(t);
  const db = { server: { host, port }, name: database, username: user, password, schema: 'own_reports' };
  const { site, service } = await started(t, { blastBin: '/nowhere', db });
  const { status, dependencies } = await healthOf(site);
  t.strictSame(
    [status, dependencies.filter(({ online }) => online !== 'yes').map(({ name }) => name)],
    ['degraded', ['blast_formatter']],
  );
  const id = await site.submit(QUERY, TABULAR);
  t.equal(await site.ended(id), 'failed');
  t.equal(await site.stderr(id), 'blast_formatter is not installed\n');
  t.equal((await site.call('GET', `/jobs/${id}/files`)).status, 403);
  const doctor = await longshore(['doctor', '--config', site.config]);
  t.match(doctor.stdout, /^FAILED +BLAST\+ .*\n {2}problem: reports: \/nowhere\/blast_formatter does not exist$/m);
  t.match(doctor.stdout, /^ok +query jobs /m);
  for (const name of ['cache database', 'report database']) t.match(doctor.stdout, new RegExp(`^ok +${name} `, 'm'));
  const migrated = await longshore(['migrate', '--config', site.config]);
  t.equal(migrated.stdout, 'cache database: up to date\nreport database: up to date\n');
  t.equal(await service.stop(), 0);
});

t.test('fifty identical requests at once are one run, and a kill -9 during it is no end of it', async (t) => {
  const { site, service } = await started(t);
  const [began, go] = [join(site.dir, 'began'), join(site.dir, 'go')];
  execFileSync('mkfifo', [began, go]);
  // Only the first run waits: the second one finds the folder of the first.
  await site.before(`if mkdir '${site.dir}/first' 2>/dev/null; then echo >'${began}'; read line <'${go}'; fi`);
  const ids = await Promise.all(Array.from({ length: 50 }, () => site.submit(QUERY, TABULAR)));
  const [id = ''] = new Set(ids);
  t.equal(new Set(ids).size, 1);
  await (await open(began)).close();
  t.match((await site.call('GET', `/jobs/${id}`)).body, { status: 'in-progress' });
  t.strictSame(processesBelow(site.dir).length > 0, true, 'the formatter runs');
  await service.crash();
  const again = await site.start();
  t.equal(await site.ended(id), 'complete');
  t.equal(await site.runs(), 2, 'once before and once after');
  const files = await site.files(id);
  t.strictSame([...files.keys()], ['report.tsv', 'report.zip']);
  t.equal(files.get('report.tsv')?.toString(), 'the result\n');
  const zipped = await unzip(files.get('report.zip') ?? Buffer.alloc(0));
  t.strictSame(
    [...zipped].map(([name, bytes]) => [name, bytes.toString()]),
    [['report.tsv', 'the result\n']],
  );
  t.match((await site.call('GET', '/jobs')).body, [{ reportJobID: id, queryJobID: QUERY, status: 'complete' }]);
  t.equal((await readdir(join(site.dir, 'store', 'objects', 'reports', id))).length, 1, 'one attempt has files');
  t.equal(await again.stop(), 0);
});

t.test('what a killed search began is gone after the next start', async (t) => {
  const site = await reportSite(t, COPY);
  const left = join(site.queryJobs, '.new-killed');
  await mkdir(left);
  execFileSync('touch', ['-d', '2 hours ago', left]);
  await mkdir(join(site.queryJobs, '.new-running'));
  const service = await site.start();
  t.strictSame(await readdir(site.queryJobs), ['.new-running']);
  t.equal(await service.stop(), 0);
});
