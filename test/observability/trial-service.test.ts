// Alerts of the service and what it stands on, on a running program: what makes each fire, and how docs/runbooks.md ends it.

import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { TrialSite } from './trial-site.ts';

const site = await TrialSite.open(t);
t.test('LongshoreReconcilerBrake', async (t) => {
  // More than ten, and more than 2 %.
  await site.imports(15);
  const objects = join(site.store, 'objects');
  await rename(objects, `${objects}.lost`);
  await mkdir(objects);
  t.match(await site.follows('LongshoreReconcilerBrake', 'reconcile --wait'), { code: 1, stdout: /15/ });
  await site.fires('LongshoreReconcilerBrake');
  await rm(objects, { recursive: true });
  await rename(`${objects}.lost`, objects);
  t.match(await site.follows('LongshoreReconcilerBrake', 'reconcile --wait'), { code: 0 });
  await site.resolves('LongshoreReconcilerBrake');
});

t.test('LongshoreDependencyDown of the cache database, LongshoreAuditNotInTable', async (t) => {
  site.gate.cut({ at: 1, when: 'before', ends: 'process' });
  const away = { dependency: 'cache-db', severity: 'critical' };
  await site.fires('LongshoreDependencyDown', away);
  t.match(await site.run('jobs'), { code: 4 }, 'what is asked for is recorded');
  await site.fires('LongshoreAuditNotInTable');
  t.match(await site.follows('LongshoreAuditNotInTable', 'doctor'), {
    code: 4,
    stdout: /^FAILED +cache database, access database .*\n +problem: .*\n +fix: /m,
  });
  site.gate.watch();
  await site.resolves('LongshoreDependencyDown', away);
  await site.resolves('LongshoreAuditNotInTable');
  t.match(await site.follows('LongshoreAuditNotInTable', 'audit export'), { code: 0 });
});

t.test('LongshoreHttpErrors, LongshoreDaemonFailing', async (t) => {
  // As after a backup of an older version was restored.
  const { db } = site.seeds;
  await db.query('drop function waits_for_pause; drop table pause, pause_wait');
  await db.query('delete from migration where number = 8');
  const ask = async () => void (await site.run('pause', 'list'));
  await ask();
  await Promise.all([site.fires('LongshoreDaemonFailing', { daemon: 'pauses' }), ask(), ask(), ask()]);
  await ask();
  await site.fires('LongshoreHttpErrors', { front_end: 'installer' });
  t.match(await site.follows('LongshoreDaemonFailing', 'top'), { code: 0, stdout: /^pauses +yes +\d+ +[1-9]/m });
  t.match(await site.follows('LongshoreHttpErrors', 'doctor'), { code: 4, stdout: /migrat/ });
  t.match(await site.follows('LongshoreHttpErrors', 'migrate'), { code: 0 });
  t.match(await site.run('pause', 'list'), { code: 0 });
  await site.resolves('LongshoreHttpErrors');
  await site.resolves('LongshoreDaemonFailing');
});

t.test('LongshoreDeadMails', async (t) => {
  site.smtp.answers.set('RCPT', '550 no such user');
  t.equal(await site.asks('administrator', '/staff', { userId: 1, isOwner: true }), 200);
  const datasets = join(site.file, '..', 'studies.yaml');
  await writeFile(
    datasets,
    'datasets: [{ datasetId: D1, studyId: S1, displayName: Genes, restrictionLevel: private }]\n',
  );
  t.match(await site.run('access', 'import', datasets, '--config', site.file), { code: 0 });
  const provider = { datasetId: 'D1', email: 'new@lab.example', isManager: true };
  t.equal(await site.asks('1', '/dataset-providers', provider), 200);
  await site.fires('LongshoreDeadMails');
  t.match(await site.follows('LongshoreDeadMails', 'doctor'), { code: 0, stdout: /^ok +mail server /m });
  site.smtp.answers.clear();
  t.match(await site.follows('LongshoreDeadMails', 'access retry-mails'), {
    code: 0,
    stdout: '1 mail will be sent again\n',
  });
  await site.resolves('LongshoreDeadMails');
  t.match(site.smtp.mails, [{ to: ['new@lab.example'] }]);
});

t.test('LongshoreDown', async (t) => {
  await site.service.crash();
  await site.fires('LongshoreDown');
  t.match(await site.follows('LongshoreDown', 'doctor'), { code: 0 });
  await site.start();
  await site.resolves('LongshoreDown');
});

t.test('LongshoreRestarting', async (t) => {
  // As a service manager does with one that the system kills for its memory.
  const started = async (): Promise<number> =>
    [...(await site.prometheus.query('process_start_time_seconds{job="longshore"}')).values()][0] ?? 0;
  // Prometheus counts only starts that it has seen.
  const seen = (since: number): Promise<number> => site.prometheus.until(started, (now) => now > since, 60_000);
  for (let [starts, last] = [0, await seen(0)]; starts < 4; starts++) {
    await site.service.crash();
    await site.start();
    last = await seen(last);
  }
  await site.fires('LongshoreRestarting');
  t.match(await site.follows('LongshoreRestarting', 'doctor'), { code: 0 });
  t.match((await site.follows('LongshoreRestarting', 'top')).stdout, /up \d+ ?s/);
  await site.resolves('LongshoreRestarting');
});
