import { hash } from 'node:crypto';
import t from 'tap';
import { FORMAT_TYPES, type FormatType } from '../../../engine/model/report/format-types.ts';
import { attemptPrefix, reportFileKey } from '../../../engine/model/report/report-job.ts';
import { never, type ReportApp, reportApp } from './report-app.ts';

/** A complete job of user 1 with these files. */
async function complete(app: ReportApp, files: Readonly<Record<string, string>>, formatType: FormatType = 'pairwise') {
  const id = await app.create('1', app.query(), { blastConfig: { formatType } });
  await app.complete(files);
  const get = (path: string, headers: object = {}, method = 'GET', user: string | undefined = '2') =>
    app.call(user, method, `/jobs/${id}/${path}`, undefined, headers);
  return { id, get };
}

const STANDING = "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const INERT = `sandbox; ${STANDING}`;

t.test('the files of every format type are listed and served in their media types', async (t) => {
  const app = await reportApp(t);
  for (const { name, file, mediaType, several } of FORMAT_TYPES) {
    const [stem, extension] = file.split('.');
    const own = several ? [file, `${stem}_1.${extension}`, `${stem}_2.${extension}`] : [file];
    const files = Object.fromEntries([...own, 'report.zip'].map((one) => [one, `content of ${one}`]));
    const { get } = await complete(app, files, name);
    const listed = Object.entries(files).map(([one, text]) => ({ name: one, size: text.length }));
    t.strictSame((await get('files')).body, listed, name);
    for (const one of Object.keys(files)) {
      const { status, headers, text } = await get(`files/${one}`);
      t.strictSame(
        {
          ...{ status, text, type: headers.get('content-type'), length: headers.get('content-length') },
          ...{ sniff: headers.get('x-content-type-options'), disposition: headers.get('content-disposition') },
          ...{ policy: headers.get('content-security-policy'), cache: headers.get('cache-control') },
        },
        {
          ...{ status: 200, text: files[one], type: one === 'report.zip' ? 'application/zip' : mediaType },
          ...{ length: String(files[one]?.length), sniff: 'nosniff', disposition: null, policy: INERT },
          cache: 'private, no-cache',
        },
        `${name} ${one}`,
      );
    }
  }
});

t.test('a download has its digest, also in part, unless the object is another one', async (t) => {
  const app = await reportApp(t);
  const { get, id } = await complete(app, { 'report.txt': 'text', 'report.zip': 'PK' });
  const digest = (text: string): string => `sha-256=:${hash('sha256', text, 'base64')}:`;
  const told = async (name: string, headers = {}, method = 'GET') =>
    (await get(`files/${name}`, headers, method)).headers.get('repr-digest');
  t.equal(await told('report.txt'), digest('text'));
  t.equal(await told('report.zip'), digest('PK'));
  t.equal(await told('report.txt', { range: 'bytes=1-2' }), digest('text'));
  t.equal(await told('report.txt', {}, 'HEAD'), digest('text'));
  await app.store.put(reportFileKey(id, 1, 'report.txt'), Buffer.from('other'), {}, never);
  t.equal(await told('report.txt'), null);
});

t.test('a download is an attachment under its name', async (t) => {
  const app = await reportApp(t);
  const { get, id } = await complete(app, { 'report.txt': 'x', 'report.zip': 'PK' });
  for (const name of ['report.txt', 'report.zip']) {
    const { headers, text } = await get(`files/${name}?download=true`);
    t.equal(headers.get('content-disposition'), `attachment; filename=${name}`);
    t.equal(headers.get('content-security-policy'), STANDING);
    t.ok(text);
    t.equal((await get(`files/${name}?download=false`)).headers.get('content-disposition'), null);
  }
  t.equal(
    (await get('stderr?download=true')).headers.get('content-disposition'),
    `attachment; filename=${id}-stderr.txt`,
  );
  const shown = (await get('stderr')).headers;
  t.strictSame([shown.get('content-disposition'), shown.get('content-security-policy')], [null, INERT]);
  for (const path of ['files/report.txt', 'stderr'])
    for (const odd of ['download=maybe', 'download=', 'inline=true', 'download=true&download=true'])
      t.match(await get(`${path}?${odd}`), { status: 400, body: { status: 'bad-request' } }, odd);
});

t.test('a part of a file, what is known already, and its size alone', async (t) => {
  const app = await reportApp(t);
  const { get } = await complete(app, { 'report.txt': '0123456789', 'report.zip': 'PK' });
  const file = 'files/report.txt';
  const etag = (await get(file)).headers.get('etag') ?? '';
  const part = await get(file, { range: 'bytes=-2' });
  t.strictSame([part.status, part.text, part.headers.get('content-range')], [206, '89', 'bytes 8-9/10']);
  t.match(await get(file, { range: 'bytes=10-' }), { status: 416, body: { status: 'bad-request' } });
  t.equal((await get(file, { 'if-none-match': etag })).status, 304);
  t.equal((await get(file, { 'if-match': '"x"' })).status, 412);
  const head = await get(file, {}, 'HEAD');
  t.strictSame([head.status, head.text, head.headers.get('content-length')], [200, '', '10']);
});

t.test('only what is in the list is served, whatever else lies beside it', async (t) => {
  const app = await reportApp(t);
  const { get, id } = await complete(app, { 'report.txt': 'x', 'report.zip': 'PK' });
  const other = await complete(app, { 'report.txt': 'of another job', 'report.zip': 'PK' }, 'organism-report');
  for (const key of [reportFileKey(id, 1, 'secret.txt'), reportFileKey(id, 2, 'report.txt'), `reports/${id}/secret`])
    await app.store.put(key, Buffer.from('secret'), {}, never);
  for (const name of [
    ...[
      'secret.txt',
      'REPORT.TXT',
      'report.txt%20',
      '%20report.txt',
      'report',
      'report.txt%00',
      'report.txt.gz',
      '%25',
    ],
    ...['..%2fsecret', '..%2f2%2freport.txt', '%2e%2e%2fsecret', `..%2f..%2f${other.id}%2f1%2freport.txt`],
    ...['1%2freport.txt', '%2fetc%2fpasswd', '..%5csecret', encodeURIComponent(attemptPrefix(id, 1)), '*'],
    'x'.repeat(3_000),
  ]) {
    const { status, body, text } = await get(`files/${name}`);
    t.ok(status === 404 || status === 400, `${name}: ${status}`);
    t.ok(typeof body === 'object', text);
  }
  t.equal((await get('files/report.txt')).text, 'x');
});

t.test('a file of no bytes is served as such', async (t) => {
  const app = await reportApp(t);
  const { get } = await complete(app, { 'report.tsv': '', 'report.zip': 'PK' }, 'tabular');
  t.match((await get('files')).body, [{ name: 'report.tsv', size: 0 }, {}]);
  const { status, text, headers } = await get('files/report.tsv');
  t.strictSame([status, text, headers.get('content-length')], [200, '', '0']);
  t.equal((await get('files/report.tsv', { range: 'bytes=0-' })).status, 416);
});

t.test('thousands of files are listed in their order, and each is served', async (t) => {
  const app = await reportApp(t);
  const names = ['report.json', ...Array.from({ length: 3_000 }, (_, i) => `report_${i + 1}.json`), 'report.zip'];
  const files = Object.fromEntries(names.map((name) => [name, `{"of":"${name}"}`]));
  const { get } = await complete(app, files, 'multi-file-blast-json');
  t.strictSame(
    ((await get('files')).body as { name: string }[]).map(({ name }) => name),
    names,
  );
  t.equal((await get('files/report_2999.json')).text, '{"of":"report_2999.json"}');
  t.equal((await get('files/report_3001.json')).status, 404);
});

t.test('files of the attempt that was complete are served, none of an earlier one', async (t) => {
  const app = await reportApp(t);
  const { id, get } = await complete(app, { 'report.txt': 'first', 'report.zip': 'PK' });
  t.equal((await app.call('admin', 'DELETE', `/maintenance/cache/${id}`)).status, 204);
  t.equal((await app.call('1', 'POST', `/jobs/${id}`)).status, 204);
  t.equal((await get('files/report.txt')).status, 403);
  await app.complete({ 'report.txt': 'second', 'report.zip': 'PK' });
  t.equal((await get('files/report.txt')).text, 'second');
  await app.sweep();
  t.equal((await get('files/report.txt')).text, 'second');
});

t.test('a browser has its token in the query, where there is something to download', async (t) => {
  const app = await reportApp(t);
  const { id } = await complete(app, { 'report.txt': 'x', 'report.zip': 'PK' });
  for (const [path, status] of [
    ['files/report.txt?download=true&', 200],
    ['stderr?', 200],
    ['files?', 401],
  ] as const)
    t.equal((await app.call(undefined, 'GET', `/jobs/${id}/${path}access_token=guest-7`)).status, status, path);
});
