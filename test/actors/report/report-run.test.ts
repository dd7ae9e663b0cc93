// What one run of a report job does, and how it ends whatever goes wrong.

import { hash } from 'node:crypto';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { renewReports, runReport } from '../../../actors/report/report-lane.ts';
import { ReportFolders } from '../../../actors/report/report-run.ts';
import { newTraceparent, traceIdOf } from '../../../engine/model/traceparent.ts';
import { aborted, defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { all, at, idOf, QUERY, signal } from '../../conformance/report-world.ts';
import type { FakeScript } from '../../fakes/fake-script-runner.ts';
import { unzip } from '../../support/unzip.ts';
import { ARCHIVE, away, CONTENT, hang, MAX_BYTES, MAX_MS, QUERY_JOB, reportWorld, write } from './report-world.ts';

/** The job has failed with that reason, and nothing of it is anywhere. */
async function hasFailed(t: Test, world: Awaited<ReturnType<typeof reportWorld>>, reason: string, stderr = '') {
  const outcome = await world.make();
  t.strictSame(outcome, { kind: 'failed', ended: new Date(world.clock.now()), reason, stderr: `${stderr}${reason}\n` });
  t.match(await world.job(), { status: 'failed', failure: reason });
  t.equal(await world.jobs.stderr(idOf(1), signal), `${stderr}${reason}\n`);
  t.strictSame(world.store.keys(), []);
  t.strictSame(await readdir(join(world.root, 'process-1')), [], 'its folder is gone');
}

t.test('the formatter gets the result, its options and an environment of its own', async (t) => {
  let seen: unknown;
  const world = await reportWorld(t, async (call) => {
    const files = await readdir(call.spec.cwd);
    seen = { files, content: await readFile(join(call.spec.cwd, files[0] ?? ''), 'utf8') };
    await write(call, 'report.tsv');
    call.err('Warning: [blast_formatter] beware\n');
    return 0;
  });
  const outcome = await world.make();
  t.strictSame(seen, { files: ['query-result'], content: ARCHIVE });
  const [spec] = world.runner.calls;
  const folder = join(world.root, 'process-1', `${idOf(1)}-1`);
  t.strictSame(spec && { ...spec, onStderr: undefined }, {
    program: 'blast_formatter',
    args: ['-archive', 'query-result', '-out', 'report.tsv', '-outfmt', '6 std qlen', '-parse_deflines'],
    cwd: join(folder, 'work'),
    env: {
      PATH: '/usr/bin',
      HOME: join(folder, 'home'),
      BLASTDB: '/blastdb:/more',
      LANG: 'C.UTF-8',
      BLAST_USAGE_REPORT: 'false',
    },
    maxDurationMs: MAX_MS,
    runId: `report-${idOf(1)}-1`,
    onStderr: undefined,
    limits: { fileSizeBytes: MAX_BYTES },
  });
  t.match(outcome, { kind: 'complete', stderr: 'Warning: [blast_formatter] beware\n' });
  t.match(await world.job(), { status: 'complete', attempt: 1 });
  t.equal(await world.jobs.stderr(idOf(1), signal), 'Warning: [blast_formatter] beware\n');
  t.strictSame(await readdir(join(world.root, 'process-1')), []);
});

t.test('the end of a run is logged with the trace of the request that asked for it', async (t) => {
  const world = await reportWorld(t);
  const lines: { readonly msg: string; readonly trace?: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  await world.submit();
  const one = await world.claim();
  const { run } = world.first.options;
  const traceparent = newTraceparent();
  await runReport({ ...one, traceparent }, { run, clock: world.clock, log, random: () => 0 }, signal);
  t.match(lines, [{ msg: 'report complete', trace: traceIdOf(traceparent) }]);
  t.equal(lines.length, 1);
});

t.test('the archive of a report holds its files, and is the same for the same files', async (t) => {
  const world = await reportWorld(t);
  const zipOf = async (attempt: number): Promise<Buffer> => {
    const opened = await world.store.get(`reports/${idOf(1)}/${attempt}/report.zip`, undefined, signal);
    return Buffer.concat(opened ? await opened.body.toArray() : []);
  };
  const outcome = await world.make();
  const first = await zipOf(1);
  const stored = async (name: string, content: string | Buffer) => {
    const etag = (await world.store.head(`reports/${idOf(1)}/1/${name}`, signal))?.etag;
    return { name, size: content.length, digest: { etag, sha256: hash('sha256', content) } };
  };
  t.strictSame(outcome.kind === 'complete' && outcome.files, [
    await stored('report.tsv', CONTENT),
    await stored('report.zip', first),
  ]);
  t.equal(world.text(1, 'report.tsv'), CONTENT);
  t.strictSame([...(await unzip(first))], [['report.tsv', Buffer.from(CONTENT)]]);
  await world.clock.advance(31 * 86_400_000);
  t.strictSame(await world.sweep(), { expired: 1, cleaned: 1 });
  t.strictSame(world.store.keys(), []);
  t.match(await world.make(), { kind: 'complete' });
  t.strictSame(await zipOf(2), first);
});

t.test('a format of several files has its index first and the others in their order', async (t) => {
  const world = await reportWorld(t, async (call) => {
    for (const name of ['report', 'report_10.json', 'report_2.json', 'report_1.json', 'core', 'report_0.json'])
      await write(call, name, name);
    return 0;
  });
  t.match(await world.make({ formatType: 'multi-file-blast-json', showGIs: false, parseDefLines: false }), {
    kind: 'complete',
  });
  const names = ['report.json', 'report_1.json', 'report_2.json', 'report_10.json', 'report.zip'];
  t.strictSame(
    (await all(world.jobs.files(idOf(1), signal))).map(({ name }) => name),
    names,
  );
  t.equal(world.text(1, 'report.json'), 'report');
  t.equal(world.store.keys().length, names.length);
});

t.test('an empty report is a report', async (t) => {
  const world = await reportWorld(t, async (call) => write(call, 'report.tsv', '').then(() => 0));
  t.match(await world.make(), { kind: 'complete', files: [{ name: 'report.tsv', size: 0 }, { name: 'report.zip' }] });
});

const ENDS: readonly (readonly [string, FakeScript, string, string?])[] = [
  [
    'an exit code other than 0',
    async (call) => {
      await write(call, 'report.tsv');
      call.err('BLAST engine error: no\n');
      return 255;
    },
    'blast_formatter ended with exit code 255',
    'BLAST engine error: no\n',
  ],
  [
    'a last line without an end',
    async ({ err }) => err('no end') ?? 1,
    'blast_formatter ended with exit code 1',
    'no end\n',
  ],
  ['a signal', async () => 'SIGKILL', 'blast_formatter was killed by SIGKILL'],
  ['a file over the limit', async () => 'SIGXFSZ', 'the report is larger than the 1000 bytes allowed'],
  ['no output', async () => 0, 'the formatter wrote no report.tsv'],
  [
    'an output of another name',
    async (call) => write(call, 'report.txt').then(() => 0),
    'the formatter wrote no report.tsv',
  ],
  [
    'a link as its output',
    async ({ spec }) => symlink('/etc/passwd', join(spec.cwd, 'report.tsv')).then(() => 0),
    'the formatter wrote no report.tsv',
  ],
  [
    'more output than it may have',
    async (call) => write(call, 'report.tsv', 'x'.repeat(MAX_BYTES + 1)).then(() => 0),
    'the report is larger than the 1000 bytes allowed',
  ],
];
for (const [what, script, reason, stderr] of ENDS)
  t.test(`a run that ends with ${what} fails, and is told so`, async (t) => {
    await hasFailed(t, await reportWorld(t, script), reason, stderr);
  });

t.test('as much output as there may be is a report', async (t) => {
  const world = await reportWorld(t, async (call) => write(call, 'report.tsv', 'x'.repeat(MAX_BYTES)).then(() => 0));
  t.match(await world.make(), { kind: 'complete' });
});

t.test('a formatter whose files are too large together is ended while it runs', async (t) => {
  const world = await reportWorld(t, async (call) => {
    call.err('so far so good\n');
    for (let n = 1; n <= 3; n++) await write(call, `report_${n}.json`, 'x'.repeat(400));
    return hang(world.clock, call);
  });
  await hasFailed(t, world, 'the report is larger than the 1000 bytes allowed', 'so far so good\n');
  t.ok(world.clock.now() < at(MAX_MS / 1000).getTime(), 'before its time is over');
});

t.test('a formatter that takes too long is ended, and the job fails', async (t) => {
  const world = await reportWorld(t, async (call) => {
    await write(call, 'report.tsv');
    return hang(world.clock, call, MAX_MS / 2);
  });
  await hasFailed(t, world, 'blast_formatter took longer than the 3600 s allowed');
});

t.test('a formatter that is missing or may not be run fails the job', async (t) => {
  const world = await reportWorld(t);
  for (const [program, reason] of [
    [undefined, 'blast_formatter is not installed'],
    ['not-executable', 'blast_formatter is not executable'],
  ] as const) {
    world.program(program);
    await hasFailed(t, world, reason);
    await world.clock.advance(100_000);
  }
});

t.test('a query that is not what it was fails the job', async (t) => {
  for (const [change, reason] of [
    [({ queries }) => queries.jobs.clear(), `the query job ${QUERY} no longer exists`],
    [({ queries }) => queries.put({ ...QUERY_JOB, status: 'expired' }, ARCHIVE), `the query job ${QUERY} is expired`],
    [
      ({ queries }) => queries.put({ ...QUERY_JOB, fingerprint: 'e'.repeat(64) }, ARCHIVE),
      `the query job ${QUERY} searched different databases than this report was requested for`,
    ],
    [({ queries }) => queries.put(QUERY_JOB), `the result of the query job ${QUERY} no longer exists`],
  ] satisfies [(world: Awaited<ReturnType<typeof reportWorld>>) => void, string][]) {
    const world = await reportWorld(t);
    change(world);
    await hasFailed(t, world, reason);
    t.strictSame(world.runner.calls, []);
  }
});

t.test(
  'a database that is away is waited for, and the answer that is kept is the one of when it is back',
  async (t) => {
    for (const fault of [rejected("there is no 'flies.nin'"), transient('EIO: read'), away()]) {
      const world = await reportWorld(t, (call) => write(call, 'report.tsv').then(() => 0));
      const { fingerprint } = world.world;
      world.world.fingerprint = async () => {
        throw fault;
      };
      t.match(await world.make(), { kind: 'again' });
      t.match(await world.job(), { status: 'queued', failure: undefined });
      t.strictSame(world.runner.calls, []);
      world.world.fingerprint = fingerprint;
      await world.clock.advance(60_000);
      const claim = await world.claim();
      await world.settle(claim, await world.first.run(claim));
      t.match(await world.job(), { status: 'complete' });
    }
  },
);

t.test('a database that was made anew fails the job before anything is formatted', async (t) => {
  const anew = await reportWorld(t);
  anew.world.fingerprint = async () => 'e'.repeat(64);
  await hasFailed(t, anew, `a database was rebuilt since the query job ${QUERY} searched it`);
  t.strictSame(anew.runner.calls, []);
});

t.test('a database that is made anew while it is read fails the job', async (t) => {
  const world = await reportWorld(t);
  world.world.script = async (call) => {
    world.world.fingerprint = async () => 'e'.repeat(64);
    return write(call, 'report.tsv').then(() => 0);
  };
  await hasFailed(t, world, `a database was rebuilt since the query job ${QUERY} searched it`);
});

t.test('what is not reached is waited for, and what only fails is tried a few times', async (t) => {
  for (const [fault, countsAttempt] of [
    [away(), false],
    [transient('the store has no room'), true],
  ] as const) {
    const world = await reportWorld(t);
    world.store.onCall = (method, key) => {
      if (method === 'put' && key.endsWith('.zip')) throw fault;
    };
    const ended = at(0);
    t.match(await world.make(), { kind: 'again', countsAttempt });
    t.ok(world.clock.now() >= ended.getTime());
    t.match(await world.job(), { status: 'queued', attempt: 1 });
    t.strictSame(world.store.keys(), [], 'what was put was taken back');
    for (let n = 2; n <= 4; n++) {
      await world.clock.advance(60_000);
      const one = await world.claim();
      await world.settle(one, await world.first.run(one));
    }
    await world.clock.advance(60_000);
    if (!countsAttempt) world.store.onCall = () => {};
    const last = await world.claim();
    t.match(last, { attempt: 5, attempts: countsAttempt ? 4 : 0 });
    await world.settle(last, await world.first.run(last));
    const end = countsAttempt ? { status: 'failed', failure: 'the store has no room' } : { status: 'complete' };
    t.match(await world.job(), { ...end, attempt: 5 });
  }
});

t.test('a bug says nothing of itself to those who read the reason', async (t) => {
  const world = await reportWorld(t);
  world.world.fingerprint = async () => {
    throw new TypeError('cannot read /secret');
  };
  await hasFailed(t, world, 'an internal error; an administrator can see why');
  const named = await reportWorld(t);
  named.world.fingerprint = async () => {
    throw defect('no such column in /secret');
  };
  await hasFailed(t, named, 'an internal error; an administrator can see why');
});

t.test('nobody reads where things lie on this machine', async (t) => {
  const lost = await reportWorld(t, async ({ spec, err }) => {
    err(`no index in [${spec.cwd}:/blastdb:/more/flies], see ${spec.env.HOME}/.ncbirc\n`);
    return 2;
  });
  const said = 'no index in [[work]:[databases]:[databases]/flies], see [home]/.ncbirc\n';
  await hasFailed(t, lost, 'blast_formatter ended with exit code 2', said);
  const absent = await reportWorld(t);
  absent.world.fingerprint = async () => {
    throw rejected("there is no 'flies.nin' in /blastdb:/more");
  };
  await absent.submit();
  for (let n = 1; n <= 5; n++) {
    const one = await absent.claim();
    await absent.settle(one, await absent.first.run(one));
    await absent.clock.advance(60_000);
  }
  t.match(await absent.job(), { status: 'failed', failure: "there is no 'flies.nin' in [databases]:[databases]" });
  const warned = await reportWorld(t, async (call) => {
    call.err(`Warning: ${call.spec.cwd}/query-result is old`);
    return write(call, 'report.tsv').then(() => 0);
  });
  t.match(await warned.make(), { kind: 'complete', stderr: 'Warning: [work]/query-result is old' });
});

t.test('a run that is cut short comes again at once, and nothing of it stays', async (t) => {
  const world = await reportWorld(t);
  const started = Promise.withResolvers<void>();
  world.world.script = async (call) => {
    await write(call, 'report.tsv');
    started.resolve();
    return new Promise(() => {});
  };
  await world.submit();
  const claim = await world.claim();
  const stop = new AbortController();
  const run = world.first.run(claim, stop.signal);
  await started.promise;
  stop.abort(aborted('shutdown'));
  const outcome = await run;
  t.strictSame(outcome, { kind: 'again', from: new Date(world.clock.now()), countsAttempt: false });
  t.strictSame(await readdir(join(world.root, 'process-1')), []);
  t.strictSame(world.store.keys(), []);
});

t.test('a run whose lease is lost is stopped, and what it says does not count', async (t) => {
  const world = await reportWorld(t);
  await world.submit();
  const claim = await world.claim();
  const stop = new AbortController();
  const lane = {
    held: () => [claim],
    abortJob: (id: unknown, reason: Error) => {
      t.equal(id, claim.id);
      stop.abort(reason);
      return true;
    },
  };
  const renew = () => renewReports(lane, world.first.queue, silentLogger(), signal);
  await renew();
  t.equal(stop.signal.aborted, false);
  for (const row of world.table.rows.values()) row.lapsed = true;
  const second = world.process(2);
  const taken = await world.claim(second);
  await renew();
  t.equal(stop.signal.aborted, true);
  const late = await world.first.run(claim, stop.signal);
  t.match(late, { kind: 'again' });
  await world.settle(taken, await second.run(taken), second);
  // One that noticed nothing has put its files elsewhere.
  const unaware = await world.first.run(claim);
  t.match(unaware, { kind: 'complete' });
  await world.settle(claim, unaware);
  t.match(await world.job(), { status: 'complete', attempt: 2 });
  t.equal(world.store.keys().length, 4);
  t.strictSame(await world.sweep(), { expired: 0, cleaned: 1 });
  t.strictSame(
    world.store.keys(),
    ['report.tsv', 'report.zip'].map((name) => `reports/${idOf(1)}/2/${name}`),
  );
  t.equal(world.text(2, 'report.tsv'), CONTENT);
});

t.test('the folders of a process that was killed are removed', async (t) => {
  const dir = t.testdir({ 'some-run': { work: { 'report.tsv': 'x' } } });
  const folders = new ReportFolders(dir);
  await folders.clear();
  t.strictSame(await readdir(dir), []);
  await folders.using({ id: idOf(1), attempt: 1 }, async ({ work }) => writeFile(join(work, 'a'), ''));
  t.strictSame(await readdir(dir), []);
});
