import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { QueryJobsDirectory } from '../../../../engine/adapters/blast/query-jobs-directory.ts';
import type { QueryJob, QueryJobId } from '../../../../engine/model/report/query-job.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { queryJobsConformance } from '../../../conformance/query-jobs.ts';
import { FakeQueryJobs } from '../../../fakes/fake-query-jobs.ts';
import { VirtualClock } from '../../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;
const job: QueryJob = {
  ...{ id: '0123456789abcdef'.repeat(2) as QueryJobId, program: 'blastp', databases: ['one'] },
  ...{ fingerprint: 'ab'.repeat(32), status: 'complete' },
};

/** A directory on the file system that is named; one of memory is another one than that of temporary files. */
async function directory(t: Test, under = tmpdir()): Promise<string> {
  const dir = await mkdtemp(join(under, 'longshore-query-jobs-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function world(t: Test, under?: string) {
  const outer = await directory(t, under);
  const [root, gone, dir] = [join(outer, 'jobs'), join(outer, 'gone'), await directory(t)];
  await mkdir(root);
  const jobs = new QueryJobsDirectory({ root });
  return {
    jobs,
    root,
    dir,
    put: async (job: QueryJob, archive: string | undefined) => {
      await using folder = await jobs.begin(systemClock);
      await writeFile(folder.archive, archive ?? '');
      await folder.keep(job);
      if (archive === undefined) await rm(join(root, job.id, 'report.asn1'));
    },
    remove: (id: QueryJobId) => rm(join(root, id), { recursive: true }),
    goAway: (away: boolean) => (away ? rename(root, gone) : rename(gone, root)),
  };
}

t.test('a directory', async (t) => queryJobsConformance(t, world));

t.test('a directory on another file system than where results are wanted', async (t) => {
  const [here, there] = [await stat(tmpdir()), await stat('/dev/shm')];
  t.not(here.dev, there.dev);
  queryJobsConformance(t, (t) => world(t, '/dev/shm'));
});

t.test('the fake', async (t) =>
  queryJobsConformance(t, async (t) => {
    const jobs = new FakeQueryJobs();
    return {
      jobs,
      dir: await directory(t),
      put: async (job, archive) => jobs.put(job, archive),
      remove: async (id) => void jobs.jobs.delete(id),
      goAway: async (away) => {
        jobs.away = away;
      },
    };
  }),
);

t.test('a job is a result and its description', async (t) => {
  const { root, put } = await world(t);
  await put(job, 'result');
  t.strictSame(await readdir(root), [job.id]);
  t.strictSame((await readdir(join(root, job.id))).sort(), ['job.json', 'report.asn1']);
  const { id: _, ...described } = job;
  t.strictSame(JSON.parse(await readFile(join(root, job.id, 'job.json'), 'utf8')), described);
  t.equal((await stat(join(root, job.id))).mode & 0o777, 0o755);
});

t.test('a job that is made again stays as it was first', async (t) => {
  const { root, put } = await world(t);
  await put(job, 'first');
  await put({ ...job, databases: ['two'] }, 'second');
  t.strictSame(await readdir(root), [job.id], 'nothing is left of the second');
  t.equal(await readFile(join(root, job.id, 'report.asn1'), 'utf8'), 'first');
});

t.test('a job without an archive is not kept', async (t) => {
  const { jobs, root } = await world(t);
  const keep = async (): Promise<void> => {
    await using folder = await jobs.begin(systemClock);
    await folder.keep(job);
  };
  await t.rejects(keep(), { kind: 'transient', message: /^query job 0123\w+ cannot be stored: ENOENT/ });
  t.strictSame(await readdir(root), []);
});

t.test('a description that cannot be read is a defect that names the file', async (t) => {
  const { jobs, root } = await world(t);
  const file = join(root, job.id, 'job.json');
  await mkdir(join(root, job.id));
  const { id: _, ...described } = job;
  const wrong: readonly (readonly [string, string])[] = [
    ['', 'not JSON: Unexpected end of JSON input'],
    ['null', 'not an object'],
    [
      JSON.stringify({ ...described, program: 'grep' }),
      "'program' must be one of blastn, blastp, blastx, tblastn, tblastx",
    ],
    [JSON.stringify({ ...described, databases: [] }), "'databases' must be a list of names"],
    [JSON.stringify({ ...described, databases: [1] }), "'databases' must be a list of names"],
    ...['AB', 'AB'.repeat(32), `${job.fingerprint}0`, `0${job.fingerprint}`, 1].map((fingerprint): [string, string] => [
      JSON.stringify({ ...described, fingerprint }),
      "'fingerprint' must be 64 lower case hexadecimal digits",
    ]),
    [
      JSON.stringify({ ...described, status: 'done' }),
      "'status' must be one of queued, in-progress, complete, failed, expired",
    ],
  ];
  for (const [text, what] of wrong) {
    await writeFile(file, text);
    await t.rejects(jobs.find(job.id, signal), { kind: 'defect', message: `${file}: ${what}` });
  }
  await writeFile(file, Buffer.alloc(1024 * 1024 + 1, ' '));
  await t.rejects(jobs.find(job.id, signal), {
    kind: 'defect',
    message: `${file} has 1048577 bytes, too large for a query job description`,
  });
  await writeFile(file, JSON.stringify({ ...described, note: 'further members are passed over' }));
  t.strictSame(await jobs.find(job.id, signal), job);
});

t.test('a folder in the place of a result is a defect', async (t) => {
  const { jobs, root, dir } = await world(t);
  await mkdir(join(root, job.id, 'report.asn1'), { recursive: true });
  await t.rejects(jobs.putArchive(job.id, join(dir, 'a'), signal), {
    ...{ kind: 'defect', message: `${join(root, job.id, 'report.asn1')} is not a file` },
  });
});

t.test('what a killed process began is removed after an hour; what is still being made is not', async (t) => {
  const { jobs, root, put } = await world(t);
  await put(job, 'result');
  const clock = new VirtualClock(Date.now());
  t.equal(await new QueryJobsDirectory({ root: join(root, 'nothing') }).sweep(clock), 0);
  await mkdir(join(root, '.new-killed'));
  await writeFile(join(root, '.new-killed', 'report.asn1'), 'half');
  await using folder = await jobs.begin(clock);
  const aged = async (path: string): Promise<void> => {
    const then = clock.now() / 1000;
    await utimes(path, then, then);
  };
  for (const path of [folder.path, join(root, '.new-killed'), join(root, job.id)]) await aged(path);
  await clock.advance(59 * 60_000);
  t.equal(await jobs.sweep(clock), 0);
  await clock.advance(2 * 60_000);
  // Its touch is one of the file system: it may take a moment longer than the clock that stands still.
  while ((await stat(folder.path)).mtimeMs < clock.now() - 30 * 60_000);
  t.equal(await jobs.sweep(clock), 1);
  t.strictSame((await readdir(root)).sort(), [basename(folder.path), job.id].sort());
});
