// The contract of reports on the running program: every field and limit.

import t from 'tap';
import { resolveConfig } from '../../engine/model/report/blast-config.ts';
import { FORMAT_FIELDS, FORMAT_TYPE_NAMES, fieldsOf } from '../../engine/model/report/format-types.ts';
import { SORT_HITS, SORT_HSPS } from '../../engine/model/report/options.ts';
import { SUMMARY_CHARACTERS } from '../../engine/model/report/report-job.ts';
import { bodyOf, faultsOf, listOf, reportWorld } from '../contract/report-world.ts';

const at = await reportWorld(t);
const { create, row } = at;
const user = await at.person();
const { client } = user;
const query = await at.query();
const LOWER = /^[\da-f]{32}$/;
const NO_ID = ['', 'x', 'g'.repeat(32), 'a'.repeat(31), 'a'.repeat(33)];

const ask = async (blastConfig: unknown) =>
  faultsOf(await client.send('POST', '/jobs', { queryJobID: query, blastConfig }));
const configOf = async (id: string) => bodyOf(await client.get(`/jobs/${id}`)).blastConfig;
const resolved = async (blastConfig: unknown) => configOf(await create(user, query, { blastConfig }));
const metaOf = async (id: string) => bodyOf(await client.get(`/jobs/${id}`)).userMeta;

row('report/types/job id', async (t) => {
  const id = await create(user, query.toUpperCase());
  t.match(id, LOWER);
  for (const one of [id, id.toUpperCase()]) {
    const { reportJobID, queryJobID } = bodyOf(await client.get(`/jobs/${one}`));
    t.strictSame([reportJobID, queryJobID], [id, query]);
  }
});
row('report/limits/job ids', async (t) => {
  for (const odd of NO_ID) {
    t.strictSame(faultsOf(await client.send('POST', '/jobs', { queryJobID: odd })), ['queryJobID']);
    if (odd !== '') t.equal((await client.get(`/jobs/${odd}`)).status, 404);
  }
});

row('report/user meta/summary', async (t) => {
  const id = await create(user, await at.query(), { userMeta: { summary: 'Mine' } });
  t.strictSame(await metaOf(id), { summary: 'Mine' });
});
row('report/user meta/description', async (t) => {
  const description = 'long\n'.repeat(20_000);
  const id = await create(user, await at.query(), { userMeta: { description } });
  t.strictSame(await metaOf(id), { description });
});
row('report/limits/userMeta.summary', async (t) => {
  for (const [length, expected] of [
    [SUMMARY_CHARACTERS, 'accepted'],
    [SUMMARY_CHARACTERS + 1, ['userMeta.summary']],
  ] as const) {
    const userMeta = { summary: 'ß'.repeat(length) };
    t.strictSame(faultsOf(await client.send('POST', '/jobs', { queryJobID: query, userMeta })), expected);
    const id = await create(user, query);
    t.strictSame(faultsOf(await client.send('PATCH', `/jobs/${id}`, { userMeta })), expected);
  }
});

// Blast config
row('report/blast config/absent', async (t) => {
  for (const blastConfig of [undefined, null, {}]) t.strictSame(await resolved(blastConfig), resolveConfig({}));
});
row('report/blast config/formatType', async (t) => {
  t.equal(FORMAT_TYPE_NAMES.length, 19);
  for (const formatType of FORMAT_TYPE_NAMES) t.match(await resolved({ formatType }), { formatType });
  for (const odd of ['Pairwise', 0, 'html', ''])
    t.strictSame(await ask({ formatType: odd }), ['blastConfig.formatType']);
});
row('report/blast config/formatFields', async (t) => {
  t.equal(FORMAT_FIELDS.length, 53);
  for (const formatType of ['tabular', 'tabular-with-comments', 'csv', 'sam'] as const) {
    const formatFields = fieldsOf(formatType).toReversed();
    t.match(await resolved({ formatType, formatFields }), { formatFields }, 'in the order in which they were given');
  }
  t.strictSame(await ask({ formatType: 'csv', formatFields: ['qseqid', 'SQ'] }), ['blastConfig.formatFields[1]']);
  t.strictSame(await ask({ formatType: 'csv', formatFields: ['colour'] }), ['blastConfig.formatFields[0]']);
  t.strictSame(await ask({ formatType: 'csv', formatFields: 'qseqid' }), ['blastConfig.formatFields']);
  t.strictSame(await ask({ formatFields: ['qseqid'] }), ['blastConfig.formatFields', 'blastConfig.formatType']);
});
for (const name of ['showGIs', 'parseDefLines'] as const)
  row(`report/blast config/${name}`, async (t) => {
    for (const flag of [true, false]) t.match(await resolved({ [name]: flag }), { [name]: flag });
    for (const odd of ['true', 1]) t.strictSame(await ask({ [name]: odd }), [`blastConfig.${name}`]);
  });
for (const [name, least] of [
  ['numDescriptions', 0],
  ['numAlignments', 0],
  ['lineLength', 1],
  ['maxTargetSequences', 5],
] as const) {
  row(`report/blast config/${name}`, async (t) => {
    for (const value of [least, 100, 2_147_483_647]) t.match(await resolved({ [name]: value }), { [name]: value });
    for (const odd of [least - 1, 2_147_483_648, '7', 7.5])
      t.strictSame(await ask({ [name]: odd }), [`blastConfig.${name}`], String(odd));
  });
}
row('report/limits/lineLength', async (t) => {
  t.strictSame(await ask({ lineLength: 1 }), 'accepted');
  t.strictSame(await ask({ lineLength: 0 }), ['blastConfig.lineLength']);
});
row('report/limits/maxTargetSequences', async (t) => {
  t.strictSame(await ask({ maxTargetSequences: 5 }), 'accepted');
  t.strictSame(await ask({ maxTargetSequences: 4 }), ['blastConfig.maxTargetSequences']);
});
for (const [name, values] of [
  ['sortHits', SORT_HITS],
  ['sortHSPs', SORT_HSPS],
] as const)
  row(`report/blast config/${name}`, async (t) => {
    t.equal(values.length, 5);
    for (const value of values) t.match(await resolved({ [name]: value }), { [name]: value });
    for (const odd of ['by-name', 0, '']) t.strictSame(await ask({ [name]: odd }), [`blastConfig.${name}`]);
    t.strictSame(await ask({ formatType: 'xml', [name]: values[0] }), [
      'blastConfig.formatType',
      `blastConfig.${name}`,
    ]);
  });

// Create request
const created = async (body: object) => faultsOf(await client.send('POST', '/jobs', body));
row('report/create request/queryJobID', async (t) => {
  t.strictSame(await created({ queryJobID: query }), 'accepted');
  for (const queryJobID of [undefined, null, 7, ...NO_ID]) t.strictSame(await created({ queryJobID }), ['queryJobID']);
});
row('report/create request/blastConfig', async (t) => {
  t.strictSame(await ask({ formatType: 'csv' }), 'accepted');
  for (const odd of ['csv', 7, []]) t.strictSame(await ask(odd), ['blastConfig']);
  t.strictSame(await ask({ colour: 'red' }), ['blastConfig.colour']);
});
row('report/create request/addToUserCollection', async (t) => {
  for (const [addToUserCollection, length] of [
    [undefined, 1],
    [null, 1],
    [true, 1],
    [false, 0],
  ] as const) {
    const who = await at.person();
    await create(who, query, { addToUserCollection });
    t.equal(listOf(await who.client.get('/jobs')).length, length);
  }
  t.strictSame(await created({ queryJobID: query, addToUserCollection: 'no' }), ['addToUserCollection']);
});
row('report/create request/userMeta', async (t) => {
  const userMeta = { summary: 's', description: 'd' };
  t.strictSame(await metaOf(await create(user, await at.query(), { userMeta })), userMeta);
  t.strictSame(await created({ queryJobID: query, userMeta: 'text' }), ['userMeta']);
  t.strictSame(await created({ queryJobID: query, userMeta: { title: 'x', summary: 7 } }), [
    'userMeta.summary',
    'userMeta.title',
  ]);
});
row('report/create response/reportJobID', async (t) => {
  const { reportJobID, ...more } = bodyOf(await client.send('POST', '/jobs', { queryJobID: query }));
  t.match(reportJobID, LOWER);
  t.strictSame(more, {});
});

// List entry, job details
const userMeta = { summary: 'Shown', description: 'in both' };
const noted = await at.person();
const shownQuery = await at.query();
const shown = await create(noted, shownQuery, { blastConfig: { formatType: 'csv' }, userMeta });
await at.becomes(shown, 'complete');
const plain = await at.complete(noted);
const entryOf = async (id: string) =>
  listOf(await noted.client.get('/jobs')).find(({ reportJobID }) => reportJobID === id) ?? {};
const detailsOf = async (id: string) => bodyOf(await noted.client.get(`/jobs/${id}`));
for (const [kind, of] of [
  ['list entry', entryOf],
  ['job details', detailsOf],
] as const) {
  row(`report/${kind}/reportJobID`, async (t) => t.equal((await of(shown)).reportJobID, shown));
  row(`report/${kind}/queryJobID`, async (t) => t.equal((await of(shown)).queryJobID, shownQuery));
  row(`report/${kind}/status`, async (t) => t.equal((await of(shown)).status, 'complete'));
  row(`report/${kind}/userMeta`, async (t) => {
    t.strictSame((await of(shown)).userMeta, userMeta);
    t.notOk('userMeta' in (await of(plain)), 'absent where nothing is noted');
  });
}
row('report/job details/blastConfig', async (t) =>
  t.strictSame((await detailsOf(shown)).blastConfig, resolveConfig({ formatType: 'csv' })),
);

row('report/patch request/userMeta', async (t) => {
  const id = await create(user, await at.query(), { userMeta: { summary: 's', description: 'd' } });
  for (const [change, then] of [
    [{}, { summary: 's', description: 'd' }],
    [{ summary: 't' }, { summary: 't', description: 'd' }],
    [{ description: null }, { summary: 't' }],
    [{ summary: null }, undefined],
  ] as const) {
    t.equal((await client.send('PATCH', `/jobs/${id}`, { userMeta: change })).status, 204);
    t.strictSame(await metaOf(id), then);
  }
  t.strictSame(faultsOf(await client.send('PATCH', `/jobs/${id}`, { userMeta: 7 })), ['userMeta']);
});

// File entry
const files = listOf(await noted.client.get(`/jobs/${shown}/files`));
row('report/file entry/name', async (t) =>
  t.strictSame(
    files.map(({ name }) => name),
    ['report.csv', 'report.zip'],
  ),
);
row('report/file entry/size', async (t) => {
  for (const { name, size } of files)
    t.equal((await noted.client.get(`/jobs/${shown}/files/${name}`)).bytes.length, size);
});
