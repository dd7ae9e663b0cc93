import t from 'tap';
import { onEachGroup } from '../../../actors/dataset/shared-data.ts';
import type { TargetId } from '../../../engine/model/ids.ts';
import { FakeInstallTarget } from '../../fakes/fake-install-target.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const target = (id: string, dataSchema = id) =>
  new FakeInstallTarget(id as TargetId, new VirtualClock(), undefined, dataSchema);
const TARGETS = [target('a', 'one'), target('b', 'two'), target('c', 'one')];

t.test('targets of a group are worked on one after the other, groups beside each other', async (t) => {
  const seen: string[] = [];
  const begun = Promise.withResolvers<void>();
  const results = await onEachGroup(TARGETS, async ({ id }) => {
    seen.push(`${id} begins`);
    if (id === 'b') begun.resolve();
    // The first of a group ends only once the other group has begun.
    if (id === 'a') await begun.promise;
    seen.push(`${id} ends`);
    return id.toUpperCase();
  });
  t.same(results, ['A', 'B', 'C'], 'in the order of the targets');
  t.same(
    seen.filter((line) => !line.startsWith('b')),
    ['a begins', 'a ends', 'c begins', 'c ends'],
  );
  t.ok(seen.indexOf('b begins') < seen.indexOf('a ends'));
});

t.test('whatever fails, every target is worked on; the first failure is told', async (t) => {
  const seen: string[] = [];
  const work = onEachGroup(TARGETS, async ({ id }) => {
    seen.push(id);
    if (id !== 'b') throw new Error(`${id} failed`);
  });
  await t.rejects(work, { message: 'a failed' });
  t.same(seen.toSorted(), ['a', 'b', 'c']);
});

t.test('what follows waits for the whole group, and is left out where a target failed', async (t) => {
  const seen: string[] = [];
  const work = onEachGroup(
    [...TARGETS, target('d', 'two'), target('e')],
    async ({ id }, alone) => {
      seen.push(id);
      if (id === 'd') throw new Error('d failed');
      return alone ? `${id}, alone,` : id;
    },
    async (result) => {
      seen.push(`${result} follows`);
      if (result === 'a') throw new Error('a failed');
    },
  );
  await t.rejects(work, { message: /failed/ });
  const of = (...ids: readonly string[]) => seen.filter((line) => ids.includes(line.charAt(0)));
  t.same(of('a', 'c'), ['a', 'c', 'a follows', 'c follows']);
  t.same(of('b', 'd'), ['b', 'd']);
  t.same(of('e'), ['e', 'e, alone, follows']);
});
