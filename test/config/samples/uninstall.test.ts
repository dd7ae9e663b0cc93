import t from 'tap';
import type { SampleDatabase } from '../../../config/samples/row-statements.ts';
import { runSample, SCRIPT_EXIT } from '../../../config/samples/run-sample.ts';
import { SAMPLES, type SampleName } from '../../../config/samples/samples.ts';

async function* nothing(): AsyncGenerator<string> {}

/** Uninstalls, with all tables there; the n-th transaction fails. */
async function uninstall(name: SampleName, failing: number): Promise<{ exit: number; transactions: number }> {
  let transactions = 0;
  const database: SampleDatabase = {
    platform: 'Postgres',
    query: async () => [{ found: true }] as never,
    async transaction(work) {
      if (transactions++ === failing) throw new Error('connection lost');
      return work(database);
    },
  };
  const exit = await runSample(name, 'uninstall', ['dataset'], nothing(), {
    ...{ dataFiles: '', say: () => {}, log: () => {} },
    database: async () => database,
    signal: new AbortController().signal,
  });
  return { exit, transactions };
}

for (const name of Object.keys(SAMPLES) as SampleName[])
  t.test(`${name}: an uninstall that leaves rows in any of its tables fails`, async (t) => {
    const { exit, transactions } = await uninstall(name, -1);
    t.equal(exit, SCRIPT_EXIT.ok);
    t.ok(transactions > 0);
    for (let failing = 0; failing < transactions; failing++)
      t.equal((await uninstall(name, failing)).exit, SCRIPT_EXIT.failed, `transaction ${failing + 1}`);
  });
