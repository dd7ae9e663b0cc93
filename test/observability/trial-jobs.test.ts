// Alerts of jobs and plugins, on a running program: what makes each fire, and how docs/runbooks.md ends it. Every alert of a test
// is made to happen; then the commands of its section are run as they stand there.

import t from 'tap';
import { TrialSite } from './trial-site.ts';

const site = await TrialSite.open(t);
const { plugin } = site;

const deadJobs = async (alert: string): Promise<readonly string[]> => {
  const { stdout } = await site.follows(alert, 'jobs --lane import --state dead');
  return [...stdout.matchAll(/^ *(\d+) +import +dead /gm)].map(([, id = '']) => id);
};

t.test('LongshorePaused', async (t) => {
  await site.run('pause', 'lane', 'sharing', '--reason', 'new disks');
  t.match(await site.fires('LongshorePaused'), { labels: { kind: 'lane', name: 'sharing', severity: 'info' } });
  t.match((await site.follows('LongshorePaused', 'pause list')).stdout, /lane +sharing .* Admin-Token +new disks/);
  t.match(await site.follows('LongshorePaused', 'resume lane', { NAME: 'sharing' }), { code: 0 });
  await site.resolves('LongshorePaused');
});

t.test('LongshoreDependencyDown of a plugin, LongshorePluginAway, LongshoreStuckLane', async (t) => {
  plugin.stop();
  await site.imports(3);
  const away = { dependency: 'plugin genes', severity: 'warning' };
  t.match(await site.fires('LongshoreDependencyDown', away), { labels: away });
  await site.fires('LongshorePluginAway', { plugin: 'genes' });
  await site.fires('LongshoreStuckLane', { lane: 'import' });
  t.match(await site.follows('LongshoreDependencyDown', 'doctor'), {
    code: 4,
    stdout: /^FAILED +plugin genes .*\n +problem: .*\n +fix: /m,
  });
  t.match((await site.follows('LongshorePluginAway', 'top')).stdout, /^not working .*\n(.*\n)*?plugin genes /m);
  t.match((await site.follows('LongshoreStuckLane', 'jobs --lane import')).stdout, / import +(queued|delayed) /);
  await plugin.start();
  await site.resolves('LongshoreDependencyDown', away);
  await site.resolves('LongshorePluginAway');
  await site.resolves('LongshoreStuckLane');
  t.match(await site.follows('LongshoreDependencyDown', 'doctor'), { code: 0, stdout: /^ok +plugin genes /m });
});

t.test('LongshoreLaneBehind', async (t) => {
  plugin.does = 'holds';
  await site.imports(6);
  await site.fires('LongshoreLaneBehind', { lane: 'import' });
  t.match((await site.follows('LongshoreLaneBehind', 'top')).stdout, /^import +\d\/2 /m);
  await site.change(({ installer }) => {
    installer.lanes.import.workerCount = 6;
  });
  t.match(await site.follows('LongshoreLaneBehind', 'reload'), { code: 0, stdout: /lanes\.import\.workerCount/ });
  t.match((await site.follows('LongshoreLaneBehind', 'top')).stdout, /^import +\d\/6 /m);
  plugin.release();
  await site.resolves('LongshoreLaneBehind');
});

t.test('LongshorePluginFailing, LongshoreDeadLetters', async (t) => {
  plugin.does = 'fails';
  // Its counters appear with the first failure, and the rate with the second.
  await site.imports(2);
  await site.fires('LongshoreDeadLetters', { lane: 'import' });
  await site.imports(2);
  await site.fires('LongshorePluginFailing', { plugin: 'genes' });
  t.match(await site.follows('LongshorePluginFailing', 'pause plugin', { KEY: 'genes' }), { code: 0 });
  t.match((await site.follows('LongshoreDeadLetters', 'jobs --lane import')).stdout, /no room left in the plugin/);
  plugin.does = 'imports';
  t.match(await site.follows('LongshorePluginFailing', 'resume plugin', { KEY: 'genes' }), { code: 0 });
  for (const JOB of await deadJobs('LongshorePluginFailing'))
    t.match(await site.follows('LongshoreDeadLetters', 'retry', { JOB }), { code: 0, stdout: `job ${JOB} queued\n` });
  await site.resolves('LongshoreDeadLetters');
  await site.resolves('LongshorePluginFailing');
  t.strictSame(await deadJobs('LongshoreDeadLetters'), []);
});

t.test('LongshoreJobDefects', async (t) => {
  // Somebody renames a table by hand.
  await site.seeds.db.query('alter table dataset_file rename to dataset_file_old');
  await site.imports(1);
  await site.fires('LongshoreJobDefects', { lane: 'import' });
  t.match(
    (await site.follows('LongshoreJobDefects', 'jobs --state dead')).stdout,
    /relation "dataset_file" does not exist/,
  );
  await site.seeds.db.query('alter table dataset_file_old rename to dataset_file');
  const [JOB = ''] = await deadJobs('LongshoreDeadLetters');
  t.match(await site.follows('LongshoreJobDefects', 'retry', { JOB }), { code: 0 });
  await site.resolves('LongshoreJobDefects');
  await site.resolves('LongshoreDeadLetters');
});

t.test('LongshoreIdleWait', async (t) => {
  await site.importsQuietly(3);
  await site.fires('LongshoreIdleWait', { lane: 'import' });
  t.match(await site.follows('LongshoreIdleWait', 'doctor'), {
    code: 0,
    stdout: /^ok +cache database, access database .* ms /m,
  });
  await site.resolves('LongshoreIdleWait');
});
