// Targets of one data schema on real stores, worked on by several processes at once: the claim is the dataset's lease in the
// database. The plugin's rows are in a table with a primary key, and it never looks whether a row is there.

import t from 'tap';
import type { DatasetId } from '../../engine/model/ids.ts';
import { objectKey } from '../../engine/model/object-key.ts';
import type { FakeOutcome, FakePluginCall } from '../fakes/fake-plugin-client.ts';
import { newAddress, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { PostgresSite } from '../support/postgres-site.ts';

const never = new AbortController().signal;
const DATASETS = 6;

t.test(
  'three processes install, install again and delete datasets on both targets: no row is written twice',
  async (t) => {
    const site = await PostgresSite.open(t, t.testdir(), { sharesData: true });
    await site.control.query('create table shared_rows (dataset_id text primary key)');
    const under = new Set<DatasetId>();
    const overlaps: string[] = [];
    const scripts = async ({ kind, dataset }: FakePluginCall): Promise<FakeOutcome | undefined> => {
      if (under.has(dataset)) overlaps.push(`${kind} ${dataset}`);
      under.add(dataset);
      try {
        if (kind === 'installData')
          await site.control.query('insert into shared_rows select $1 from pg_sleep(0.01)', [dataset]);
        if (kind === 'uninstall') await site.control.query('delete from shared_rows where dataset_id = $1', [dataset]);
        return undefined;
      } catch (error) {
        return { kind: 'script-error', message: String(error) };
      } finally {
        under.delete(dataset);
      }
    };
    site.plugin.decide = scripts;
    const rows = async (): Promise<readonly string[]> =>
      (
        await site.control.query<{ dataset_id: string }>(
          'select dataset_id from shared_rows order by dataset_id collate "C"',
        )
      ).map(({ dataset_id }) => dataset_id);
    const addresses = Array.from({ length: DATASETS }, () => newAddress());
    const ids = addresses.map(({ dataset }) => dataset).sort();
    const said = async (): Promise<readonly string[]> => {
      const states = await Promise.all(
        addresses.flatMap(({ dataset }) =>
          [PLASMO, TOXO].map(async (id) => site.targets.get(id)?.state(dataset, never)),
        ),
      );
      return [...new Set(states.map((state) => `${state?.messages.data?.status} ${state?.deletedStatus}`))];
    };

    for (const at of addresses) await site.accept({}, at);
    t.same(await site.finishTogether(3), []);
    t.same([await rows(), await said()], [ids, ['complete 0']]);
    t.equal(site.plugin.installed.size, 2 * DATASETS, 'each target has its files');

    for (const { owner, dataset } of addresses) {
      const again = { status: 'ready-for-reinstall' } as const;
      const state = await site.control.query<{ token: string }>(
        'select lease_token as token from control.dataset where dataset_id = $1',
        [dataset],
      );
      const own = Number(state[0]?.token);
      for (const id of [PLASMO, TOXO])
        await site.targets.get(id)?.write(dataset, { messages: { data: again } }, own, never);
      await site.enqueue({ lane: 'install', owner, dataset, source: 'admin' });
    }
    t.same(await site.finishTogether(3), []);
    t.same([await rows(), await said()], [ids, ['complete 0']]);

    for (const at of addresses) await site.store.put(objectKey(at, 'delete-flag'), new Uint8Array(), {}, never);
    t.same(await site.finishTogether(3), []);
    t.same([await rows(), await said(), [...site.plugin.installed]], [[], ['complete 1'], []]);
    t.same([site.plugin.doubled, overlaps, [...site.outcomes]], [[], [], ['done']]);
  },
);
