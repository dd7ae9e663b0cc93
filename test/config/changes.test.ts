import t from 'tap';
import { changesBetween, withChanges } from '../../config/changes.ts';
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
  t.match(told(after), [
    { path: 'installer.lanes.import.eventChannel', live: undefined },
    { path: 'installer.plugins.genelist.dataTypes[0].category', live: undefined },
  ]);
});

t.test('the same duration, address or path in other words is the same', async (t) => {
  const { reconciler } = (document as { installer: { daemons: { reconciler: object } } }).installer.daemons;
  t.match(reconciler, { slimRunInterval: '5m' });
  const after = changed(document, 'installer.daemons.reconciler.slimRunInterval', '300s');
  t.strictSame(told(after), []);
});

t.test('an entry that comes or goes, and another form of a service, is one change, and never live', async (t) => {
  const { plugins, installTargets } = (
    document as { installer: { plugins: Record<string, unknown>; installTargets: unknown[] } }
  ).installer;
  const more = changed(document, 'installer.plugins.another', plugins.genelist);
  const store = { driver: 'directory', path: '/srv/objects' };
  const changes = [
    ...told(more),
    ...changesBetween(ROOT_SCHEMA, more, document, '/').changes,
    ...told(changed(document, 'installer.installTargets', [...installTargets, installTargets[0]])),
    ...told(changed(document, 'installer.objectStore', store)),
  ];
  t.match(changes, [
    { path: 'installer.plugins.another', live: undefined },
    { path: 'installer.plugins.another', to: undefined, live: undefined },
    { path: 'installer.installTargets', live: undefined },
    { path: 'installer.objectStore', live: undefined },
  ]);
  t.equal(changes.length, 4);
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

t.test('a change below what the document does not have is left out', async (t) => {
  const change = { steps: ['a', 'b'], to: 2 };
  for (const before of [{ a: 1 }, { a: null }, {}]) t.strictSame(withChanges(before, [change]), before);
});
