// Datasets go from upload to installed on the embedded stack. With LONGSHORE_DATA naming the folder of the real inputs
// they are used; otherwise inputs of the same shape are made.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { biomTable, geneList, rnaSeqManifest, rnaSeqTables, studyTable } from '../fixtures/datasets.ts';
import { zipOf } from '../fixtures/zip-of.ts';
import { Api, detailsOf, type TestFile } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';
import { countRows, queryTarget } from '../support/sites.ts';
import { unzip } from '../support/unzip.ts';

const TARGETS = ['AlphaDB', 'BetaDB'] as const;
const USER = '9007199254740993'; // above 2^53: ids must not be rounded anywhere

const dir = await tempDir(t);
const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
const api = new Api(
  app.endpoints.installer,
  await app.token(USER, '--given-name', 'Ada', '--email', 'ada@example.org'),
);

/** The real input when there is one. */
async function input(name: string, made: () => string): Promise<TestFile> {
  const folder = process.env.LONGSHORE_DATA;
  const content = folder === undefined ? made() : await readFile(join(folder, name));
  return { name, content };
}

/** How it ended, by the program's own client. */
async function ending(id: string): Promise<string> {
  const { stdout } = await longshore(['watch', id, '--data', dir, '--user', USER]);
  return stdout.trim();
}

interface Details {
  readonly datasetId: string;
  readonly owner: { readonly userId: number };
  readonly status: {
    readonly upload: { readonly status: string };
    readonly import: { readonly status: string; readonly messages: readonly string[] };
    readonly install: readonly {
      readonly installTarget: string;
      readonly meta: { readonly status: string };
      readonly data: { readonly status: string };
    }[];
  };
}
const details = async (id: string): Promise<Details> => (await api.json(`/datasets/${id}`)) as Details;

t.test('a gene list of 5,720 ids is installed on two targets', async (t) => {
  const file = await input('genelist.txt', () => geneList(5_720));
  const id = await api.upload(detailsOf('genelist'), [file]);
  t.equal(await ending(id), 'installed');

  const { status } = await details(id);
  t.same(
    { upload: status.upload.status, import: status.import.status, install: status.install },
    {
      upload: 'success',
      import: 'complete',
      install: TARGETS.map((installTarget) => ({
        installTarget,
        meta: { status: 'complete' },
        data: { status: 'complete' },
      })),
    },
  );
  for (const target of TARGETS) {
    const installed = await readFile(join(dir, 'sites', target, id, 'formatted_gene_list.txt'), 'utf8');
    t.equal(installed.trimEnd().split('\n').length, 5_720, `${target}: installed file`);
    t.equal(await countRows(dir, target, 'genelist', id), 5_720, `${target}: rows`);
  }
  const original = await unzip(await api.bytes(`/datasets/${id}/files/upload`));
  t.same([...original.keys()], [file.name]);
  t.ok(original.get(file.name)?.equals(Buffer.from(file.content)), 'the original comes back byte by byte');

  const files = (await api.json(`/datasets/${id}/files`)) as { upload: { zipSize: number; contents: unknown[] } };
  const sha256 = createHash('sha256').update(file.content).digest('hex');
  t.same(files.upload.contents, [{ fileName: file.name, fileSize: Buffer.byteLength(file.content), sha256 }]);
  t.equal(files.upload.zipSize, (await api.bytes(`/datasets/${id}/files/upload`)).length);
  const data = await unzip(await api.bytes(`/datasets/${id}/files/install`));
  t.ok(data.has('formatted_gene_list.txt'));
});

t.test('a site sees the installed dataset in its view, for its owner', async (t) => {
  const id = await api.upload(detailsOf('genelist', { name: 'Seen by the site' }), [
    { name: 'genes.txt', content: geneList(3) },
  ]);
  t.equal(await ending(id), 'installed');
  for (const target of TARGETS)
    t.same(
      await queryTarget(
        dir,
        target,
        'controlDb',
        'select user_id::text, project_id, is_owner, name from available_user_datasets where dataset_id = $1',
        [id],
      ),
      [{ user_id: USER, project_id: target, is_owner: 1, name: 'Seen by the site' }],
    );
});

t.test('a study table of 1,000 rows is installed', async (t) => {
  const id = await api.upload(detailsOf('isasimple'), [await input('isasimple.csv', () => studyTable(1_000))]);
  t.equal(await ending(id), 'installed');
  for (const target of TARGETS) t.equal(await countRows(dir, target, 'isasimple', id), 1_000, target);
});

t.test('both matrices are installed with all their non-zero cells', async (t) => {
  for (const [name, rows, columns, nonZero] of [
    ['biom-small.biom', 781, 10, 919],
    ['biom-large.biom', 947, 40, 2_997],
  ] as const) {
    const file = await input(name, () => biomTable({ rows, columns, nonZero, form: 'dense' }));
    const id = await api.upload(detailsOf('biom'), [file]);
    t.equal(await ending(id), 'installed', name);
    for (const target of TARGETS) t.equal(await countRows(dir, target, 'biom', id), nonZero, `${name} on ${target}`);
  }
});

t.test('an RNA-Seq archive without manifest is invalid and says what is missing', async (t) => {
  const folder = 'TPM tables: all';
  const archive: TestFile =
    process.env.LONGSHORE_DATA === undefined
      ? { name: 'rnaseq.zip', content: await zipOf(rnaSeqTables({ genes: 50, folder })) }
      : {
          name: 'rnaseq-nested-no-manifest.tgz',
          content: await readFile(join(process.env.LONGSHORE_DATA, 'rnaseq-nested-no-manifest.tgz')),
        };
  const id = await api.upload(detailsOf('rnaseq'), [archive]);
  t.equal(await ending(id), 'invalid');
  const { status } = await details(id);
  t.match(status.import.messages.join('\n'), /manifest\.txt/);
  t.notOk(existsSync(join(dir, 'sites', 'AlphaDB', id)));
});

t.test('an RNA-Seq archive with a manifest is installed', async (t) => {
  const folder = 'TPM tables: all';
  const files =
    process.env.LONGSHORE_DATA === undefined
      ? [...rnaSeqTables({ genes: 50, folder }), rnaSeqManifest(folder)]
      : await realRnaSeqWithManifest(process.env.LONGSHORE_DATA);
  const id = await api.upload(detailsOf('rnaseq'), [{ name: 'rnaseq.zip', content: await zipOf(files) }]);
  t.equal(await ending(id), 'installed', JSON.stringify((await details(id)).status.import));
  t.ok((await countRows(dir, 'AlphaDB', 'rnaseq', id)) > 0);
});

t.test('the listing holds what was uploaded, newest first, and nothing for a stranger', async (t) => {
  const mine = (await api.json('/datasets')) as readonly { datasetId: string; created: string }[];
  t.ok(mine.length >= 5);
  t.same(
    mine.map((item) => item.created),
    mine
      .map((item) => item.created)
      .sort()
      .reverse(),
  );
  const stranger = new Api(app.endpoints.installer, await app.token('77'));
  t.same(await stranger.json('/datasets'), []);
  t.equal((await stranger.get(`/datasets/${mine[0]?.datasetId}`)).status, 404);
});

t.test('the owner keeps a user id above 2^53 digit by digit', async (t) => {
  const [first] = (await api.json('/datasets')) as readonly { datasetId: string }[];
  const text = await (await api.get(`/datasets/${first?.datasetId}`)).text();
  t.match(text, `"userId":${USER}`);
});

async function realRnaSeqWithManifest(folder: string): Promise<readonly { name: string; text: string }[]> {
  const { extract } = await import('tar-stream');
  const { createReadStream } = await import('node:fs');
  const { createGunzip } = await import('node:zlib');
  const { text } = await import('node:stream/consumers');
  const tar = createReadStream(join(folder, 'rnaseq-nested-no-manifest.tgz')).pipe(createGunzip()).pipe(extract());
  const files: { name: string; text: string }[] = [];
  for await (const entry of tar) {
    if (entry.header.type === 'file') files.push({ name: entry.header.name, text: await text(entry) });
    else entry.resume();
  }
  const lines = files.map((file) => {
    const name = file.name.slice(file.name.lastIndexOf('/') + 1);
    return `${name.replace(/\.[^.]*$/, '')}\t${name}\tunstranded\n`;
  });
  return [...files, { name: 'manifest.txt', text: lines.join('') }];
}
