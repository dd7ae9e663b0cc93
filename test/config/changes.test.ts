import t from 'tap';
import { changesBetween, withChanges } from '../../config/changes.ts';
import { LIVE_KINDS, liveSettings } from '../../config/live.ts';
import { ROOT_SCHEMA } from '../../config/schema/root.ts';
import { changed, completeDocument } from './complete-document.ts';

const document = await completeDocument('contract-form');
const between = (after: unknown) => changesBetween(ROOT_SCHEMA, document, after, '/etc/longshore');
const told = (after: unknown) => between(after).changes.map(({ path, from, to, live }) => ({ path, from, to, live }));

t.test('nothing differs from itself', async (t) => {
  const { changes, unchanged } = between(structuredClone(document));
  t.strictSame(changes, []);
  t.ok(unchanged > 150, `${unchanged} settings`);
});

t.test('a live setting is told with what it was and what it is to be', async (t) => {
  const before = between(document).unchanged;
  const after = changed(changed(document, 'installer.lanes.import.workerCount', 2), 'containerCore.log.level', 'info');
  t.strictSame(told(after), [
    { path: 'containerCore.log.level', from: 'debug', to: 'info', live: 'log-level' },
    { path: 'installer.lanes.import.workerCount', from: 20, to: 2, live: 'lane-bounds' },
  ]);
  t.equal(between(after).unchanged, before - 2);
});

t.test('what is not live is told apart, item by item where lists are of one length', async (t) => {
  const type = 'installer.plugins.genelist.dataTypes.0.category';
  const after = changed(changed(document, type, 'Other'), 'installer.lanes.import.eventChannel', 'others');
  t.strictSame(
    told(after).map(({ path, live }) => [path, live]),
    [
      ['installer.lanes.import.eventChannel', undefined],
      ['installer.plugins.genelist.dataTypes[0].category', undefined],
    ],
  );
});

t.test('the same duration, address or path in other words is the same', async (t) => {
  const { reconciler } = (document as { installer: { daemons: { reconciler: object } } }).installer.daemons;
  t.match(reconciler, { slimRunInterval: '5m' });
  const after = changed(document, 'installer.daemons.reconciler.slimRunInterval', '300s');
  t.strictSame(told(after), []);
});

t.test('an entry that comes or goes is one change, and never live', async (t) => {
  const { plugins } = (document as { installer: { plugins: Record<string, unknown> } }).installer;
  const more = changed(document, 'installer.plugins.another', plugins.genelist);
  const paths = told(more).map(({ path, live }) => [path, live]);
  t.strictSame(paths, [['installer.plugins.another', undefined]]);
  const back = changesBetween(ROOT_SCHEMA, more, document, '/').changes;
  t.strictSame(
    back.map(({ path, to, live }) => [path, to, live]),
    [['installer.plugins.another', undefined, undefined]],
  );
  const { installTargets } = (document as { installer: { installTargets: unknown[] } }).installer;
  const longer = changed(document, 'installer.installTargets', [...installTargets, installTargets[0]]);
  t.strictSame(
    told(longer).map(({ path }) => path),
    ['installer.installTargets'],
  );
});

t.test('another form of a service is one change', async (t) => {
  const store = { driver: 'directory', path: '/srv/objects' };
  t.strictSame(
    told(changed(document, 'installer.objectStore', store)).map(({ path, live }) => [path, live]),
    [['installer.objectStore', undefined]],
  );
});

t.test('changes can be made to a document, which stays as it was', async (t) => {
  const after = changed(changed(document, 'installer.lanes.import.workerCount', 2), 'installer.siteBuild', 'other');
  const { changes } = between(after);
  const before = structuredClone(document);
  const live = withChanges(
    document,
    changes.filter(({ live }) => live),
  );
  t.strictSame(live, changed(document, 'installer.lanes.import.workerCount', 2));
  t.strictSame(withChanges(document, changes), after);
  t.strictSame(document, before);
});

t.test('live settings are those of lanes, daemons, plugins and the log, and no secret is one', async (t) => {
  const lanes = ['upload', 'import', 'install', 'hardDelete', 'softDelete', 'sharing', 'updateMeta', 'reconciliation'];
  t.strictSame(liveSettings(ROOT_SCHEMA), [
    { path: 'containerCore.log.level', kind: 'log-level' },
    { path: 'installer.daemons.pruner.pruneInterval', kind: 'daemon-interval' },
    { path: 'installer.daemons.reconciler.fullRunInterval', kind: 'daemon-interval' },
    { path: 'installer.daemons.reconciler.slimRunInterval', kind: 'daemon-interval' },
    ...lanes.flatMap((lane) => [
      { path: `installer.lanes.${lane}.inMemoryQueueSize`, kind: 'lane-bounds' },
      { path: `installer.lanes.${lane}.workerCount`, kind: 'lane-bounds' },
    ]),
    { path: 'installer.plugins.*.timeouts.connect', kind: 'plugin-timeouts' },
    { path: 'installer.plugins.*.timeouts.reply', kind: 'plugin-timeouts' },
    { path: 'installer.plugins.*.timeouts.idle', kind: 'plugin-timeouts' },
    { path: 'report.lane.inMemoryQueueSize', kind: 'lane-bounds' },
    { path: 'report.lane.workerCount', kind: 'lane-bounds' },
    { path: 'access.autoApproval.interval', kind: 'daemon-interval' },
  ]);
  t.strictSame(new Set(liveSettings(ROOT_SCHEMA).map(({ kind }) => kind)), new Set(Object.keys(LIVE_KINDS)));
});
