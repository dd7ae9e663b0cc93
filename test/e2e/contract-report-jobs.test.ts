// The contract of reports on the running program: the life of jobs, their files, and what the contract leaves open.

import t from 'tap';
import { FORMAT_TYPE_NAMES, FORMAT_TYPES } from '../../engine/model/report/format-types.ts';
import { cellOf, OPTION_NAMES, type OptionName } from '../../engine/model/report/options.ts';
import { held } from '../contract/held.ts';
import { bodyOf, FAILURE, faultsOf, listOf, reportWorld } from '../contract/report-world.ts';
import { unzip } from '../support/unzip.ts';

const at = await reportWorld(t);
const { admin, becomes, complete, create, row } = at;
const user = await at.person();
const { client } = user;
const statusOf = async (id: string) => bodyOf(await admin.get(`/jobs/${id}`)).status;
const stderrOf = async (id: string) => (await client.get(`/jobs/${id}/stderr`)).text;
const lastLine = async (id: string) => (await stderrOf(id)).trimEnd().split('\n').at(-1);
const filesOf = async (id: string) => listOf(await client.get(`/jobs/${id}/files`)).map(({ name }) => String(name));

// States
row('report/states/queued', async (t) => {
  // Of the four workers one is left to other users, so this user's other jobs wait.
  const gates = [1, 2, 3].map((n) => held(at.dir, `gate-${n}`));
  const busy: string[] = [];
  for (const gate of gates) busy.push(await create(user, await at.query({ archive: `wait ${gate.content}` })));
  for (const id of busy) await becomes(id, 'in-progress');
  for (const gate of gates) await gate.reached();
  const waiting = [];
  for (let n = 0; n < 30; n++) waiting.push(await create(user, await at.query()));
  t.equal(await statusOf(waiting.at(-1) ?? ''), 'queued');
  for (const gate of gates) await gate.release();
  for (const id of [...busy, ...waiting]) await becomes(id, 'complete');
});
row('report/states/in-progress', async (t) => {
  const gate = held(at.dir, 'one-gate');
  const id = await create(user, await at.query({ archive: `wait ${gate.content}` }));
  await gate.reached();
  t.equal(await statusOf(id), 'in-progress');
  t.equal((await admin.send('DELETE', `/maintenance/cache/${id}`)).status, 409, 'it does not expire meanwhile');
  for (const path of ['files', 'files/report.txt', 'stderr'])
    t.equal((await client.get(`/jobs/${id}/${path}`)).status, 403);
  await gate.release();
  await becomes(id, 'complete');
});
row('report/states/complete', async (t) =>
  t.strictSame(await filesOf(await complete(user)), ['report.txt', 'report.zip']),
);
const failing = await at.query({ archive: 'fail' });
row('report/states/failed', async (t) => {
  const id = await create(user, failing);
  await becomes(id, 'failed');
  t.strictSame(await stderrOf(id), `Error: told to\n${FAILURE}\n`);
});
row('report/states/expired', async (t) => {
  const id = await complete(user, { formatType: 'csv' });
  const before = bodyOf(await client.get(`/jobs/${id}`));
  await admin.send('DELETE', `/maintenance/cache/${id}`);
  t.strictSame(bodyOf(await client.get(`/jobs/${id}`)), { ...before, status: 'expired' });
  t.equal((await client.get(`/jobs/${id}/files`)).status, 403);
});
row('report/states/POST /jobs', async (t) => {
  const who = await at.person();
  const id = await create(who, await at.query());
  t.match(listOf(await who.client.get('/jobs')), [{ reportJobID: id }]);
  await create(who, await at.query(), { addToUserCollection: false });
  t.equal(listOf(await who.client.get('/jobs')).length, 1);
});
row('report/states/POST /jobs/{job-id}', async (t) => {
  const id = await complete(user);
  const requeue = async () => (await client.send('POST', `/jobs/${id}`)).status;
  t.equal(await requeue(), 403);
  await admin.send('DELETE', `/maintenance/cache/${id}`);
  t.equal(await requeue(), 204);
  t.equal(await requeue(), 403);
  await becomes(id, 'complete');
  t.equal((await client.get(`/jobs/${id}/files/report.txt`)).text, '"result"\n');
});
row('report/states/DELETE /jobs/{job-id}', async (t) => {
  const [who, other] = [await at.person(), await at.person()];
  const id = await complete(who);
  await other.client.get(`/jobs/${id}`);
  t.equal((await who.client.send('DELETE', `/jobs/${id}`)).status, 204);
  t.strictSame(listOf(await who.client.get('/jobs')), []);
  t.equal(listOf(await other.client.get('/jobs')).length, 1);
  t.equal((await who.client.get(`/jobs/${id}/files`)).status, 200, 'the job stays');
});
row('report/states/files of a job that is not complete', async (t) => {
  const id = await create(user, failing);
  await becomes(id, 'failed');
  for (const path of ['files', 'files/report.txt', 'files/report.zip'])
    t.match(await client.get(`/jobs/${id}/${path}`), { status: 403, body: { status: 'forbidden' } });
  t.equal(await statusOf(id), 'failed');
});

// Options
const ask = async (blastConfig: object, queryJobID: string) =>
  faultsOf(await client.send('POST', '/jobs', { queryJobID, blastConfig }));
const VALUES: Readonly<Record<Exclude<OptionName, 'formatType' | 'formatFields'>, unknown>> = {
  ...{ showGIs: true, numDescriptions: 7, numAlignments: 7, lineLength: 70, maxTargetSequences: 7 },
  ...{ sortHits: 'by-bit-score', sortHSPs: 'by-hsp-score', parseDefLines: true },
};
const options = await at.query();
row('report/decisions/option x format type', async (t) => {
  for (const formatType of FORMAT_TYPE_NAMES)
    for (const option of OPTION_NAMES) {
      const values: Partial<Record<OptionName, unknown>> = {
        ...VALUES,
        formatFields: [formatType === 'sam' ? 'SQ' : 'qseqid'],
      };
      const config = { [option]: values[option], formatType };
      const expected =
        cellOf(option, formatType) === 'refused'
          ? [`blastConfig.${option}`, 'blastConfig.formatType'].sort()
          : 'accepted';
      t.strictSame(await ask(config, options), expected, `${formatType} ${option}`);
    }
});
row('report/decisions/maxTargetSequences', async (t) => {
  for (const option of ['numDescriptions', 'numAlignments'])
    t.strictSame(
      await ask({ maxTargetSequences: 7, [option]: 7 }, options),
      ['blastConfig.maxTargetSequences', `blastConfig.${option}`].sort(),
    );
});
row('report/decisions/sam', async (t) => {
  for (const program of ['blastp', 'blastx', 'tblastn', 'tblastx'] as const)
    t.strictSame(await ask({ formatType: 'sam' }, await at.query({ program })), ['blastConfig.formatType'], program);
  t.strictSame(await ask({ formatType: 'sam' }, options), 'accepted');
});
row('report/decisions/frames', async (t) => {
  for (const field of ['frames', 'sframe']) {
    const config = { formatType: 'tabular', formatFields: ['qseqid', field] };
    t.strictSame(await ask(config, options), ['blastConfig.formatFields']);
    t.strictSame(await ask({ ...config, formatFields: ['qstart', field] }, options), 'accepted');
  }
});
row('report/decisions/query job', async (t) => {
  for (const status of ['queued', 'in-progress', 'failed', 'expired'] as const)
    t.strictSame(await ask({}, await at.query({ status })), ['queryJobID']);
  t.strictSame(await ask({}, '0'.repeat(32)), ['queryJobID']);
});
row('report/decisions/command line', async (t) => {
  const pairs = { formatType: 'pairwise', numDescriptions: 7, sortHits: 'by-bit-score' };
  await complete(user, pairs, { archive: 'pairs' });
  t.strictSame(await at.lastCall('pairs'), [
    ...['-archive', 'query-result', '-out', 'report.txt', '-outfmt', '0', '-num_descriptions', '7'],
    ...['-num_alignments', '250', '-line_length', '60', '-sorthits', '1'],
  ]);
  const table = { formatType: 'tabular', formatFields: ['qseqid', 'evalue'], maxTargetSequences: 5 };
  await complete(user, table, { archive: 'table' });
  t.strictSame(await at.lastCall('table'), [
    ...['-archive', 'query-result', '-out', 'report.tsv', '-outfmt', '6 qseqid evalue', '-max_target_seqs', '5'],
  ]);
});

// Who shares what
row('report/decisions/one job', async (t) => {
  const queryJobID = await at.query();
  const people = [await at.person(), await at.person(), await at.person(true)];
  const asked = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      create(people[i % 3] ?? user, queryJobID, { blastConfig: { lineLength: 61 } }),
    ),
  );
  t.equal(new Set(asked).size, 1);
  await becomes(asked[0] ?? '', 'complete');
  for (const { client } of people) t.equal(listOf(await client.get('/jobs')).length, 1);
});
row('report/decisions/sharing', async (t) => {
  const queryJobID = await at.query();
  const id = await create(user, queryJobID, { userMeta: { summary: 'mine' } });
  await becomes(id, 'complete');
  for (const who of [await at.person(), await at.person(true)]) {
    const { userMeta, ...shown } = bodyOf(await who.client.get(`/jobs/${id}`));
    t.equal(userMeta, undefined);
    t.match(shown, { reportJobID: id, queryJobID, status: 'complete' });
    t.equal((await who.client.get(`/jobs/${id}/files/report.txt`)).status, 200);
    t.match(listOf(await who.client.get('/jobs')), [{ reportJobID: id }]);
  }
});
row('report/decisions/resubmission', async (t) => {
  const queryJobID = await at.query();
  const id = await create(user, queryJobID, { userMeta: { summary: 's', description: 'd' } });
  await create(user, queryJobID, { userMeta: { summary: 't' } });
  t.match(bodyOf(await client.get(`/jobs/${id}`)), { userMeta: { summary: 't', description: 'd' } });
});
row('report/decisions/failed job', async (t) => {
  const id = await create(user, failing);
  await becomes(id, 'failed');
  const began = listOf(await admin.get('/maintenance/broken-jobs')).find((one) => one.reportJobID === id)?.failedOn;
  t.equal(await create(user, failing), id);
  for (;;) {
    // Queued, running, and failed once more.
    const now = listOf(await admin.get('/maintenance/broken-jobs')).find((one) => one.reportJobID === id)?.failedOn;
    if (now !== undefined && now !== began) break;
  }
  t.equal(await lastLine(id), FAILURE);
});
row('report/decisions/changed database', async (t) => {
  await at.database('changing');
  const queryJobID = await at.query({ database: 'changing' });
  await at.database('changing');
  const id = await create(user, queryJobID);
  await becomes(id, 'failed');
  t.equal(await lastLine(id), `a database was rebuilt since the query job ${queryJobID} searched it`);
});

// Files
row('report/decisions/file names', async (t) => {
  for (const { name, file, several } of FORMAT_TYPES) {
    const [stem, extension] = file.split('.');
    const own = several ? [file, `${stem}_1.${extension}`, `${stem}_2.${extension}`] : [file];
    t.strictSame(await filesOf(await complete(user, { formatType: name })), [...own, 'report.zip'], name);
  }
  const id = await complete(user);
  for (const name of ['report', 'REPORT.TXT', 'query-result', '..%2freport.txt', 'report.txt%2f', '%2fetc%2fpasswd'])
    t.equal((await client.get(`/jobs/${id}/files/${name}`)).status, 404, name);
});
row('report/decisions/file headers', async (t) => {
  for (const { name, file, mediaType } of FORMAT_TYPES) {
    const id = await complete(user, { formatType: name });
    for (const [one, type] of [
      [file, mediaType],
      ['report.zip', 'application/zip'],
    ]) {
      const { headers, bytes } = await client.get(`/jobs/${id}/files/${one}`);
      const names = ['content-type', 'content-length', 'x-content-type-options'];
      t.strictSame(
        names.map((header) => headers.get(header)),
        [type, String(bytes.length), 'nosniff'],
        `${name} ${one}`,
      );
      // The console's pages may show it, as those of http.enableCors.
      t.match(
        headers.get('content-security-policy'),
        /^sandbox; default-src 'none'; .*frame-ancestors http:\/\/127\.0\.0\.1:\d+ http:\/\/\[::1\]:\d+ http:\/\/localhost:\d+$/,
      );
      t.equal(headers.get('content-disposition'), null);
      t.match(headers.get('etag'), /^"[^"]+"$/);
    }
  }
});
row('report/decisions/ranges', async (t) => {
  const id = await complete(user, {}, { archive: '0123456789' });
  const path = `/jobs/${id}/files/report.txt`;
  const etag = (await client.get(path)).headers.get('etag') ?? '';
  const part = await client.get(path, { range: 'bytes=1-3' });
  t.strictSame([part.status, part.text, part.headers.get('content-range')], [206, '012', 'bytes 1-3/13']);
  t.equal((await client.get(path, { 'if-none-match': etag })).status, 304);
  t.equal((await client.get(path, { 'if-match': '"other"' })).status, 412);
  t.equal((await client.get(path, { range: 'bytes=13-' })).status, 416);
});
row('report/decisions/report.zip', async (t) => {
  for (const formatType of ['csv', 'multi-file-blast-json', 'multi-file-blast-xml2']) {
    const id = await complete(user, { formatType });
    const entries = await unzip((await client.get(`/jobs/${id}/files/report.zip`)).bytes);
    const names = (await filesOf(id)).filter((name) => name !== 'report.zip');
    t.strictSame([...entries.keys()], names);
    for (const name of names)
      t.strictSame(entries.get(name), (await client.get(`/jobs/${id}/files/${name}`)).bytes, name);
  }
});
