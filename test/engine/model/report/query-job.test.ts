import t from 'tap';
import { queryJobId, type Search } from '../../../../engine/model/report/query-job.ts';

const search: Search = {
  ...{ program: 'blastp', databases: ['one', 'two'], fingerprint: 'f'.repeat(64) },
  ...{ query: 'e'.repeat(64), maxTargetSequences: undefined },
};

t.test('the same search has the same id, written however', async (t) => {
  t.equal(queryJobId(search), '36cb58655a134a3479b1bbb2c68ab9e1', 'in this version and the next');
  const { query, ...rest } = search;
  t.equal(queryJobId({ query, ...rest }), queryJobId(search), 'in another order');
});

t.test('another program, database, content, query or number of sequences is another id', async (t) => {
  const changes: readonly Partial<Search>[] = [
    ...([{}, { program: 'blastx' }, { databases: ['two', 'one'] }, { fingerprint: 'a'.repeat(64) }] as const),
    ...[{ query: 'a'.repeat(64) }, { maxTargetSequences: 500 }, { maxTargetSequences: 501 }],
  ];
  t.equal(new Set(changes.map((change) => queryJobId({ ...search, ...change }))).size, changes.length);
});
