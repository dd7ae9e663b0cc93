// What every implementation of the problems port does.

import t, { type Test } from 'tap';
import type { LaneName } from '../../engine/model/event.ts';
import { type DatasetId, targetId, type UserId } from '../../engine/model/ids.ts';
import type { InstallRecord } from '../../engine/ports/catalog.ts';
import type { Jobs } from '../../engine/ports/jobs.ts';
import type { OwnerRetries, ProblemFilter, ProblemKey, Problems } from '../../engine/ports/problems.ts';
import type { DatasetStatuses } from './job-admin.ts';
import { claimed, claimOne, complete, fresh, type JobView, request, signal } from './jobs.ts';

export interface ProblemsUnderTest {
  readonly problems: Problems & OwnerRetries;
  readonly jobs: Jobs;
  /** A live dataset of type `genelist:1.0`, owned by user 7. */
  addToCatalog(dataset: DatasetId, statuses: DatasetStatuses): Promise<void>;
  setInstall(dataset: DatasetId, install: InstallRecord): Promise<void>;
  statuses(dataset: DatasetId): Promise<DatasetStatuses>;
  /** The upload of the dataset can be packed once more. */
  keepFiles(dataset: DatasetId): Promise<void>;
  /** All jobs, oldest first. */
  view(): Promise<readonly JobView[]>;
}

export type OpenProblems = (t: Test) => Promise<ProblemsUnderTest>;

const id = (text: string): DatasetId => text as DatasetId;
const GOOD: DatasetStatuses = {
  upload: { status: 'success', message: undefined },
  import: { status: 'complete', messages: [] },
};
const failedImport = (...messages: string[]): DatasetStatuses => ({ ...GOOD, import: { status: 'failed', messages } });
const FAILED_UPLOAD: DatasetStatuses = {
  upload: { status: 'failed', message: 'no room' },
  import: { status: 'queued', messages: [] },
};
const SITE = targetId('PlasmoSite');
const stuck = (more: Partial<InstallRecord> = {}): InstallRecord => ({
  ...{ target: SITE, kind: 'data', status: 'failed-installation', messages: ['no table'] },
  ...more,
});
const key = (lane: LaneName, dataset: string, target?: InstallRecord['target']): ProblemKey => ({
  lane,
  dataset: id(dataset),
  target,
});
const BY = { by: 'user 42', reason: 'of no use' };
const GIVEN_UP = 'an operator gave this step up; it is not repeated by itself';

async function bury(
  jobs: Jobs,
  lane: LaneName,
  dataset: string,
  message = 'a bug',
  failure: 'defect' | 'rejected' = 'defect',
) {
  const job = await claimed(jobs, lane, dataset);
  await complete(jobs, job, { kind: 'dead', failure, message });
}

async function delay(jobs: Jobs, lane: LaneName, dataset: string) {
  const job = await claimed(jobs, lane, dataset);
  await complete(jobs, job, { kind: 'retry', delayMs: 600_000, message: 'busy', countsAttempt: true });
}

export function problemsConformance(name: string, open: OpenProblems): void {
  const fact = (what: string, check: (t: Test, under: ProblemsUnderTest) => Promise<void>): void => {
    t.test(`${name}: ${what}`, async (t) => check(t, await open(t)));
  };
  const ids = async ({ problems }: ProblemsUnderTest, filter: ProblemFilter = {}): Promise<readonly string[]> => {
    const page = await problems.page(filter, { limit: 1_000 }, signal);
    return page.problems.map((one) => one.id).sort();
  };

  fact('what failed for good is listed once, with what is known of it', async (t, under) => {
    const { problems, jobs } = under;
    t.same(await problems.page({}, { limit: 10 }, signal), { problems: [], next: undefined });
    await under.addToCatalog(id('d1'), failedImport('line 7: no gene', 'and more'));
    await under.addToCatalog(id('d2'), failedImport('internal error'));
    await bury(jobs, 'import', 'd2', 'ENOSPC');
    await under.addToCatalog(id('d3'), FAILED_UPLOAD);
    await under.addToCatalog(id('d4'), GOOD);
    await under.setInstall(id('d4'), stuck());
    await under.setInstall(id('d4'), stuck({ kind: 'meta', status: 'missing-dependency', messages: [] }));
    await bury(jobs, 'install', 'd4', 'of which the installs tell');
    await bury(jobs, 'install', 'd5');
    await delay(jobs, 'sharing', 'd6');
    const { problems: found } = await problems.page({}, { limit: 10 }, signal);
    const of = (one: string) => found.find((problem) => problem.id === one);
    t.same(found.map((one) => one.id).sort(), [
      ...['import:d1', 'import:d2', 'install:d4:PlasmoSite', 'install:d5', 'updateMeta:d4:PlasmoSite', 'upload:d3'],
    ]);
    const { since, ...first } = of('import:d1') ?? { since: undefined };
    t.same(first, {
      ...{ id: 'import:d1', ...key('import', 'd1'), owner: '7', type: 'genelist:1.0', name: 'Genes', state: 'failed' },
      ...{ message: 'line 7: no gene; and more', cause: 'line N: no gene; and more' },
    });
    t.ok(since instanceof Date);
    t.match(of('import:d2'), { state: 'dead', message: 'ENOSPC' });
    t.match(of('upload:d3'), { state: 'failed', message: 'no room' });
    t.match(of('install:d4:PlasmoSite'), { ...key('install', 'd4', SITE), state: 'failed-installation' });
    t.match(of('updateMeta:d4:PlasmoSite'), { state: 'missing-dependency', message: '' });
    t.match(of('install:d5'), { ...key('install', 'd5'), state: 'dead', type: undefined, name: undefined });
    t.same(await ids(under, { state: 'delayed' }), ['sharing:d6']);
    t.same(await ids(under, { ids: ['sharing:d6', 'import:d1', 'import:none'] }), ['import:d1', 'sharing:d6']);
  });

  fact('filters narrow the list and the counts alike', async (t, under) => {
    const { problems, jobs } = under;
    await under.addToCatalog(id('d1'), failedImport('Disk FULL on /srv/a1'));
    await under.addToCatalog(id('d2'), GOOD);
    await under.setInstall(id('d2'), stuck());
    await bury(jobs, 'sharing', 'd3', 'disk full on /srv/b2');
    const now = (await problems.page({}, { limit: 10 }, signal)).problems.map(({ since }) => since.getTime());
    const [oldest, newest] = [Math.min(...now), Math.max(...now)];
    const cases: readonly (readonly [ProblemFilter, readonly string[]])[] = [
      [{ lane: 'sharing' }, ['sharing:d3']],
      [{ lane: 'upload' }, []],
      [{ state: 'failed' }, ['import:d1']],
      [{ types: ['genelist'] }, ['import:d1', 'install:d2:PlasmoSite']],
      [{ types: ['x:1', 'genelist:1.0'] }, ['import:d1', 'install:d2:PlasmoSite']],
      [{ types: ['genelist:2.0'] }, []],
      [{ target: 'PlasmoSite' }, ['install:d2:PlasmoSite']],
      [{ owner: '7' as UserId, state: 'failed' }, ['import:d1']],
      [{ owner: '8' as UserId }, []],
      [{ dataset: id('d2') }, ['install:d2:PlasmoSite']],
      [{ contains: 'disk full' }, ['import:d1', 'sharing:d3']],
      [{ contains: 'disk%' }, []],
      [{ cause: 'disk full on PATH' }, ['sharing:d3']],
      [{ cause: 'disk full' }, []],
      [{ from: new Date(oldest) }, ['import:d1', 'install:d2:PlasmoSite', 'sharing:d3']],
      [{ from: new Date(newest + 1) }, []],
      [{ before: new Date(oldest) }, []],
    ];
    for (const [filter, found] of cases) {
      t.same(await ids(under, filter), found, JSON.stringify(filter));
      const counts = await problems.counts(filter, signal);
      t.equal(
        [...counts.values()].reduce((a, b) => a + b, 0),
        found.length,
      );
      const causes = await problems.causes(filter, 10, signal);
      t.equal(
        causes.reduce((sum, { count }) => sum + count, 0),
        found.length,
      );
    }
    t.same(
      await problems.counts({}, signal),
      new Map([
        ['import', 1],
        ['install', 1],
        ['sharing', 1],
      ]),
    );
  });

  fact('pages follow one another, and nothing that fails meanwhile comes into them', async (t, under) => {
    const { problems, jobs } = under;
    for (const one of ['a', 'b', 'c', 'd', 'e']) await bury(jobs, 'sharing', one);
    const first = await problems.page({}, { limit: 2 }, signal);
    t.same(
      first.problems.map((one) => one.dataset),
      ['a', 'b'],
    );
    await problems.retry([key('sharing', 'a'), key('sharing', 'c')], 9, signal);
    const seen: string[] = [];
    for (let { next } = first; next; ) {
      const page = await problems.page({}, { limit: 2, after: next }, signal);
      seen.push(...page.problems.map((one) => String(one.dataset)));
      next = page.next;
    }
    t.same(seen, ['d', 'e']);
    const full = await problems.page({}, { limit: 3 }, signal);
    t.equal(full.problems.length, 3);
    t.equal(full.next, undefined, 'a full last page has no next page');
  });

  fact('messages of one cause have the same cause', async (t, under) => {
    const same: readonly (readonly [string, readonly string[]])[] = [
      ['PATH: no space', ['/srv/store/1/x.zip: no space', '/srv/a-b/0VbfWYbontYX1Se4.zip: no space']],
      ["gene '...' is unknown (line N)", ["gene 'PF3D7' is unknown (line 3)", 'gene "x y" is unknown (line 12)']],
      [
        'call ID timed out after Ns',
        ['call 0VbfWYbontYX1Se4 timed out after 3s', 'call 7f3a-99bc-de timed out after 1.5s'],
      ],
      ['URL answered N', ['http://10.0.0.1:8080/a?b=c answered 503', 'https://example.org/ answered 404']],
      ["the plugin's script failed; it's broken", ["the plugin's script failed; it's broken"]],
      ['dataset ID is gone', ['dataset two10 is gone', 'dataset two11 is gone']],
    ];
    let n = 0;
    for (const [, messages] of same)
      for (const message of messages) {
        const dataset = message.includes('two1') ? (message.split(' ')[1] ?? '') : `d${n++}`;
        await under.addToCatalog(id(dataset), failedImport(message));
      }
    const causes = await under.problems.causes({}, 10, signal);
    t.same(
      new Map(causes.map(({ cause, count }) => [cause, count])),
      new Map(same.map(([cause, messages]) => [cause, messages.length])),
    );
    t.match(
      causes.find(({ cause }) => cause === 'URL answered N'),
      { lane: 'import', state: 'failed' },
    );
    for (const { oldest, newest, example } of causes) {
      t.ok(oldest <= newest);
      t.ok(same.some(([, messages]) => messages.includes(example.message)));
    }
    t.equal((await under.problems.causes({}, 2, signal)).length, 2);
  });

  fact('a retry queues the job as if it had never run, opens its status, and moves nothing else', async (t, under) => {
    const { problems, jobs } = under;
    for (const one of ['i1', 'i2', 'i3']) await under.addToCatalog(id(one), failedImport('no'));
    await bury(jobs, 'import', 'i2');
    for (const one of ['u1', 'u2', 'u3']) await under.addToCatalog(id(one), FAILED_UPLOAD);
    await under.keepFiles(id('u1'));
    await bury(jobs, 'upload', 'u3');
    await delay(jobs, 'sharing', 's1');
    await bury(jobs, 'sharing', 's2');
    const asked = [key('import', 'i1'), key('import', 'i2'), key('upload', 'u1'), key('upload', 'u2')];
    const outcomes = await problems.retry([...asked, key('sharing', 's1'), key('import', 'none')], 77, signal);
    t.same(outcomes, ['done', 'done', 'done', 'files-gone', 'done', 'not-failed']);
    t.same(await ids(under), ['import:i3', 'sharing:s2', 'upload:u2', 'upload:u3']);
    const opened = { ...GOOD, import: { status: 'queued', messages: [] } };
    const running = { ...FAILED_UPLOAD, upload: { status: 'running', message: undefined } };
    t.same([await under.statuses(id('i1')), await under.statuses(id('i2'))], [opened, opened]);
    t.same([await under.statuses(id('u1')), await under.statuses(id('u2'))], [running, FAILED_UPLOAD]);
    const view = await under.view();
    t.same(
      view
        .filter(({ state }) => state === 'queued')
        .map(({ lane, dataset, attempts, eventId }) => [lane, dataset, attempts, eventId])
        .sort(),
      [
        ['import', 'i1', 0, 77],
        ['import', 'i2', 0, 1],
        ['sharing', 's1', 0, 1],
        ['upload', 'u1', 0, 77],
      ],
    );
    const job = await claimOne(jobs, 'sharing');
    t.equal(job.dataset, 's1');
    const again = await problems.retry([key('sharing', 's1'), key('import', 'i1')], 78, signal);
    t.same(again, ['busy', 'not-failed']);
    t.same(await problems.retry([], 79, signal), []);
  });

  fact(
    'what is discarded is not listed, and not requested again by those who repeat their requests',
    async (t, under) => {
      const { problems, jobs } = under;
      await under.addToCatalog(id('i1'), failedImport('no'));
      await under.addToCatalog(id('i2'), failedImport());
      await under.addToCatalog(id('i3'), { ...GOOD, import: { status: 'in-progress', messages: [] } });
      await bury(jobs, 'import', 'i3', 'its worker crashed');
      await under.addToCatalog(id('u1'), { ...FAILED_UPLOAD, upload: { status: 'running', message: undefined } });
      await bury(jobs, 'upload', 'u1');
      await bury(jobs, 'softDelete', 's1', 'no site');
      await bury(jobs, 'softDelete', 's2');
      await delay(jobs, 'sharing', 's3');
      await claimed(jobs, 'sharing', 's4');
      const asked = [
        key('import', 'i1'),
        key('import', 'i2'),
        key('import', 'i3'),
        key('upload', 'u1'),
        key('softDelete', 's1'),
      ];
      const others = [key('sharing', 's3'), key('sharing', 's4'), key('sharing', 'none')];
      t.same(await problems.discard([...asked, ...others], BY, signal), [
        ...asked.map(() => 'done'),
        ...['delayed', 'busy', 'not-failed'],
      ]);
      t.same(await ids(under), ['softDelete:s2']);
      t.same((await under.statuses(id('i1'))).import, { status: 'failed', messages: ['no'] });
      for (const one of ['i2', 'i3'])
        t.same((await under.statuses(id(one))).import, { status: 'failed', messages: [GIVEN_UP] });
      t.same((await under.statuses(id('u1'))).upload, { status: 'failed', message: GIVEN_UP });
      t.match(await problems.discards(id('s1'), signal), [{ ...key('softDelete', 's1'), ...BY, message: 'no site' }]);
      t.same(await problems.discards(id('s2'), signal), []);
      const before = await under.view();
      for (const source of ['full-reconciler', 'slim-reconciler', 'pruner'] as const)
        await jobs.enqueue([request('softDelete', 's1', 5, source), request('import', 'i1', 5, source)], signal);
      t.same(await under.view(), before);
      await jobs.enqueue([request('updateMeta', 's1', 5, 'full-reconciler')], signal);
      t.equal((await under.view()).length, before.length + 1, 'another lane of the dataset is requested as always');
      await jobs.enqueue([request('softDelete', 's1', 6, 'object-store')], signal);
      t.match((await under.view()).at(-1), { ...fresh('softDelete', 's1'), eventId: 6 });
      t.same(await problems.discards(id('s1'), signal), [], 'something new happened');
      await complete(jobs, await claimOne(jobs, 'softDelete'), { kind: 'done' });
      await jobs.enqueue([request('softDelete', 's1', 7, 'full-reconciler')], signal);
      await complete(jobs, await claimOne(jobs, 'softDelete'), { kind: 'dead', failure: 'defect', message: 'again' });
      t.same(await ids(under), ['softDelete:s1', 'softDelete:s2']);
    },
  );

  fact('a discarded import is listed again when it fails again after a retry', async (t, under) => {
    const { problems, jobs } = under;
    await under.addToCatalog(id('i1'), failedImport('no'));
    await problems.discard([key('import', 'i1')], BY, signal);
    t.same(await ids(under), []);
    t.same(await problems.retry([key('import', 'i1')], 8, signal), ['done']);
    t.same(await problems.discards(id('i1'), signal), []);
    await complete(jobs, await claimOne(jobs, 'import'), { kind: 'dead', failure: 'defect', message: 'again' });
    t.same(await ids(under), ['import:i1']);
  });

  fact('an install is discarded on its target, until its status changes', async (t, under) => {
    const { problems, jobs } = under;
    const other = targetId('ToxoSite');
    await under.addToCatalog(id('d1'), GOOD);
    await under.setInstall(id('d1'), stuck());
    await under.setInstall(id('d1'), stuck({ target: other, messages: ['no disk'] }));
    await bury(jobs, 'install', 'd1');
    t.same(await problems.discard([key('install', 'd1', SITE), key('updateMeta', 'd1', SITE)], BY, signal), [
      ...['done', 'not-failed'],
    ]);
    t.same(await ids(under), ['install:d1:ToxoSite']);
    t.match(await under.view(), [{ lane: 'install', state: 'dead' }], 'for the other target');
    t.match(await problems.discards(id('d1'), signal), [{ ...key('install', 'd1', SITE), ...BY, message: 'no table' }]);
    t.same(await problems.discard([key('install', 'd1', other)], BY, signal), ['done']);
    t.same([await ids(under), await under.view()], [[], []]);
    await jobs.enqueue([request('install', 'd1', 5, 'full-reconciler')], signal);
    t.same(await under.view(), [], 'the job as a whole is discarded');
    await under.setInstall(id('d1'), stuck({ status: 'running', messages: [] }));
    await under.setInstall(id('d1'), stuck());
    t.same(await ids(under), ['install:d1:PlasmoSite']);
  });

  fact('an owner has a failed step repeated once, until an administrator retries it', async (t, under) => {
    const { problems, jobs } = under;
    const die = async (failure: 'defect' | 'rejected' = 'defect') =>
      complete(jobs, await claimOne(jobs, 'import'), { kind: 'dead', failure, message: 'no' });
    const fail = () => under.addToCatalog(id('i1'), failedImport('no'));
    await fail();
    t.equal(await problems.retryOnce(id('i1'), 31, signal), 'done');
    t.match(await under.view(), [{ lane: 'import', dataset: 'i1', state: 'queued', eventId: 31 }]);
    t.equal(await problems.retryOnce(id('i1'), 32, signal), 'not-failed');
    await die();
    await fail();
    t.equal(await problems.retryOnce(id('i1'), 33, signal), 'asked-before');
    t.same(await problems.retry([key('import', 'i1')], 34, signal), ['done']);
    await die();
    await fail();
    t.equal(await problems.retryOnce(id('i1'), 35, signal), 'done');
    await die('rejected');
    await fail();
    t.equal(await problems.retryOnce(id('i1'), 36, signal), 'not-theirs', 'an operator cancelled it');
    await problems.discard([key('import', 'i1')], BY, signal);
    t.equal(await problems.retryOnce(id('i1'), 37, signal), 'not-theirs');
    await under.addToCatalog(id('u1'), FAILED_UPLOAD);
    t.equal(await problems.retryOnce(id('u1'), 38, signal), 'files-gone');
    await under.addToCatalog(id('i2'), { ...GOOD, import: { status: 'invalid', messages: ['bad'] } });
    t.equal(await problems.retryOnce(id('i2'), 39, signal), 'not-failed');
    t.equal(await problems.retryOnce(id('none'), 40, signal), 'not-failed');
  });

  fact('an aborted signal keeps it from being called', async (t, { problems }) => {
    const over = AbortSignal.abort();
    await t.rejects(problems.page({}, { limit: 1 }, over), { name: 'AbortError' });
    await t.rejects(problems.causes({}, 1, over), { name: 'AbortError' });
    await t.rejects(problems.counts({}, over), { name: 'AbortError' });
    await t.rejects(problems.retry([], 1, over), { name: 'AbortError' });
    await t.rejects(problems.discard([], BY, over), { name: 'AbortError' });
    await t.rejects(problems.discards(id('d1'), over), { name: 'AbortError' });
    await t.rejects(problems.retryOnce(id('d1'), 1, over), { name: 'AbortError' });
  });
}
