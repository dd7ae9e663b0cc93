import t, { type Test } from 'tap';
import { SecondChance } from '../../../actors/daemons/second-chance.ts';
import { type CommandIo, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { discard, problems, retry } from '../../../bin/commands/problems.ts';
import type { DatasetId, UserId } from '../../../engine/model/ids.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { problemOrderRoutes } from '../../../http/installer/admin/problem-orders.ts';
import { problemRoutes } from '../../../http/installer/admin/problems.ts';
import { FakeCatalog, newDataset } from '../../fakes/fake-catalog.ts';
import { FakeJobAdmin } from '../../fakes/fake-job-admin.ts';
import { FakeJobs, JobTable } from '../../fakes/fake-jobs.ts';
import { FakeKeyboard } from '../../fakes/fake-keyboard.ts';
import { FakeLeases, LeaseTable } from '../../fakes/fake-leases.ts';
import { FakeProblems } from '../../fakes/fake-problems.ts';
import { FakeTerminal } from '../../fakes/fake-terminal.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { dataTypes } from '../../http/installer/installation.ts';
import { ADMIN_TOKEN, listen } from '../../http/installer/installer-app.ts';
import { metadataOf } from '../../support/dataset-samples.ts';
import { fault, run } from '../../support/run-command.ts';

const OWNER = '42' as UserId;
const SINCE = '2026-01-01T00:00:00.000Z';

/** A server with `full` imports that failed for want of space, and others that failed with these messages. */
async function setup(t: Test, full = 2, others: readonly string[] = ['no plugin']) {
  const clock = new VirtualClock();
  const leases = new LeaseTable(clock);
  const table = new JobTable(clock, leases, () => undefined);
  const catalog = new FakeCatalog(() => true);
  const fail = (dataset: string, message: string): void => {
    const at = { owner: OWNER, dataset: dataset as DatasetId };
    const failed = { status: 'failed', messages: [message] } as const;
    catalog.datasets.set(at.dataset, { ...newDataset(at, metadataOf(OWNER)), import: failed });
  };
  for (let i = 1; i <= full; i++) fail(`d${i}`, `no space for ${i}`);
  for (const [n, message] of others.entries()) fail(`x${n + 1}`, message);
  const known = new FakeProblems(table, catalog);
  let events = 0;
  const secondChances = new SecondChance({
    ...{ problems: known, catalog, clock, log: silentLogger(), targets: new Map() },
    ...{ jobs: new FakeJobs(table, 1), jobAdmin: new FakeJobAdmin(table, catalog), leases: new FakeLeases(leases, 1) },
    events: { nextEventId: async () => ++events },
  });
  const options = { problems: known, secondChances, dataTypes: dataTypes() };
  const server = await listen(t, [...problemRoutes(options), ...problemOrderRoutes(options)]);
  return { table, known, access: ['--server', `http://127.0.0.1:${server.port}`, '--admin-token', ADMIN_TOKEN] };
}

t.test('problems are listed, and grouped by cause', async (t) => {
  const { access } = await setup(t);
  t.strictSame(await run(problems, access), {
    code: EXIT.ok,
    out: [
      'id         state   type          owner  since                     message',
      `import:d1  failed  genelist@1.0  42     ${SINCE}  no space for 1`,
      `import:d2  failed  genelist@1.0  42     ${SINCE}  no space for 2`,
      `import:x1  failed  genelist@1.0  42     ${SINCE}  no plugin`,
      '',
    ].join('\n'),
    err: '',
  });
  t.strictSame((await run(problems, [...access, '--causes'])).out.split('\n'), [
    'count  lane    state   newest                    example    cause',
    `    2  import  failed  ${SINCE}  import:d1  no space for N`,
    `    1  import  failed  ${SINCE}  import:x1  no plugin`,
    '',
  ]);
  const json = await run(problems, [...access, '--json', '--contains', 'PLUGIN', '--lane', 'import']);
  t.match(JSON.parse(json.out), [{ id: 'import:x1', datasetId: 'x1', owner: 42 }]);
  t.equal((await run(problems, [...access, '--older-than', '1000d'])).out, '');
});

t.test('more causes than are shown are told of', async (t) => {
  const letters = [...'abcdefghijklmno'];
  // Causes do not differ by numbers.
  const tools = letters.flatMap((one) => letters.map((other) => `no tool ${one}${other}`));
  const { access } = await setup(t, 0, tools);
  const { code, out, err } = await run(problems, [...access, '--causes']);
  t.strictSame([code, out.trimEnd().split('\n').length - 1], [EXIT.ok, 200]);
  t.equal(err, 'the 200 most frequent causes; narrow the list for others\n');
});

t.test('named problems are retried, and those that are none are told', async (t) => {
  const { access, table } = await setup(t);
  t.strictSame(await run(retry, [...access, 'import:d1', 'import:d9']), {
    code: EXIT.failed,
    out: 'lane    problems  retried  left alone\nimport         1        1\n1 of 1 problems retried\n',
    err: '1 of the named problems do not exist, or not any more\n',
  });
  t.match(table.rows, [{ lane: 'import', dataset: 'd1', state: 'queued' }]);
  t.equal(table.rows.length, 1);
});

t.test('one cause is retried and another discarded, in as many requests as it takes', async (t) => {
  const { access, table } = await setup(t, 1_100);
  const counted = await run(retry, [...access, '--cause', 'no space for N', '--dry-run']);
  t.equal(counted.out, 'lane    problems\nimport      1100\n1100 problems would be retried\n');
  t.equal(table.rows.length, 0);
  const { out } = await run(retry, [...access, '--cause', 'no space for N', '--json']);
  t.strictSame(JSON.parse(out), {
    ...{ dryRun: false, problems: 1_100, done: 1_100 },
    lanes: [{ lane: 'import', problems: 1_100, done: 1_100, skipped: {} }],
  });
  t.equal(table.rows.length, 1_100);
  const discarded = await run(discard, [...access, '--all', '--reason', 'a test']);
  t.match(discarded.out, '1 of 1 problems discarded\n');
  t.equal((await run(problems, access)).out, '');
});

t.test('at a terminal it asks before it changes more than one', async (t) => {
  const { access, table } = await setup(t);
  const at = async (typed: string, args: readonly string[]) => {
    const keyboard = new FakeKeyboard();
    keyboard.type(typed);
    const terminal = new FakeTerminal(80);
    let out = '';
    const io: CommandIo = {
      ...{
        env: {},
        err: () => {},
        errTerminal: terminal,
        keyboard: () => keyboard,
        signal: new AbortController().signal,
      },
      out: (text) => {
        out += text;
      },
    };
    return { code: await retry.run([...access, ...args], io), out, asked: terminal.written.join('') };
  };
  const no = await at('\r', ['--contains', 'space']);
  t.match(no, { code: EXIT.failed, out: '', asked: /^retry 2 problems \[no\]: / });
  t.equal(table.rows.length, 0);
  t.match(await at('', ['--contains', 'plugin']), { code: EXIT.ok, asked: '' }, 'only one');
  t.match(await at('maybe\ryes\r', ['--contains', 'space']), { code: EXIT.ok, asked: /must be yes or no/ });
  t.equal(table.rows.length, 3);
  t.match(await at('', ['--all', '--yes']), { code: EXIT.ok, asked: '' });
});

t.test('what is meant must be clear', async (t) => {
  const { access } = await setup(t);
  for (const [command, args, message] of [
    [retry, [], /^name problems, narrow the selection .* or retry --all$/],
    [discard, ['--reason', 'x'], /or discard --all$/],
    [discard, ['--all'], /^--reason TEXT is required/],
    [retry, ['d1'], /^'d1' is not a job ID/],
    [problems, ['--lane', 'imports'], /^--lane 'imports': must be one of/],
    [problems, ['--older-than', 'long'], /^--older-than 'long': must be a duration/],
    [problems, ['--newer-than', '36501d'], /^--newer-than '36501d': .* at most 36500d$/],
  ] as const)
    t.match(await fault(command, [...args, ...access]), [UsageError, undefined, message]);
});
