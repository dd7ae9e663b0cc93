import t from 'tap';
import { resolveConfig } from '../../../../engine/model/report/blast-config.ts';
import { canonicalJson, parseQueryJobId, type QueryJobId } from '../../../../engine/model/report/query-job.ts';
import { parseReportJobId, reportJobId } from '../../../../engine/model/report/report-job.ts';

const query = { id: 'a'.repeat(32) as QueryJobId, fingerprint: 'f'.repeat(64) };

t.test('the same request has the same id, written however', async (t) => {
  const id = reportJobId(resolveConfig({}), query);
  t.equal(id, '04f4fd9644ce5b4deb54d31ad1f6a78f', 'in this version and the next');
  t.equal(reportJobId(resolveConfig({ lineLength: 60, formatType: 'pairwise' }), query), id);
  const { parseDefLines, ...rest } = resolveConfig({ numDescriptions: 500 });
  t.equal(reportJobId({ parseDefLines, ...rest }, query), id, 'in another order');
});

t.test('another format, order of fields, query or database is another id', async (t) => {
  const ids = [
    reportJobId(resolveConfig({}), query),
    reportJobId(resolveConfig({ lineLength: 61 }), query),
    reportJobId(resolveConfig({ formatType: 'csv', formatFields: ['evalue', 'score'] }), query),
    reportJobId(resolveConfig({ formatType: 'csv', formatFields: ['score', 'evalue'] }), query),
    reportJobId(resolveConfig({}), { ...query, id: 'b'.repeat(32) as QueryJobId }),
    reportJobId(resolveConfig({}), { ...query, fingerprint: 'e'.repeat(64) }),
  ];
  t.equal(new Set(ids).size, ids.length);
});

t.test('ids are folded to lower case, and nothing else is one', async (t) => {
  const upper = '0123456789ABCDEFabcdef0123456789';
  t.equal(parseReportJobId(upper), upper.toLowerCase());
  t.equal(parseQueryJobId(upper), upper.toLowerCase());
  for (const text of [
    '',
    'a'.repeat(31),
    'a'.repeat(33),
    'g'.repeat(32),
    `${'a'.repeat(32)}\n`,
    `../${'a'.repeat(29)}`,
  ]) {
    t.equal(parseReportJobId(text), undefined, JSON.stringify(text));
    t.equal(parseQueryJobId(text), undefined, JSON.stringify(text));
  }
});

t.test('canonical JSON has one form', async (t) => {
  t.equal(
    canonicalJson({ b: [1, { d: null, c: 'é"' }], a: true, x: undefined }),
    '{"a":true,"b":[1,{"c":"é\\"","d":null}]}',
  );
});
