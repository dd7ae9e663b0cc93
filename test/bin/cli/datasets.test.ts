import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { ApiError, EXIT, UsageError } from '../../../bin/cli/command.ts';
import { revisionOf } from '../../../engine/model/ids.ts';
import { installerApp } from '../../http/installer/installer-app.ts';
import { storedMetadata } from '../../http/installer/revisions.ts';
import { type Added, add, imported } from '../../http/installer/stored-datasets.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { fault, run } from '../../support/run-command.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

async function setup(t: Test) {
  const app = await installerApp(t, db);
  const owner = newUser();
  const at = await imported(app, db, owner);
  const file = join(t.testdir(), 'genes.txt');
  await writeFile(file, 'PF3D7_0100100\n');
  return { app, at, owner, file, access: ['--server', app.url, '--token', owner] };
}
const NOTE = ['--note', 'Better genes'];
const stateOf = async (at: Added) =>
  (await db.query<{ state: string }>('select state from dataset where dataset_id = $1', [at.dataset]))[0]?.state;

t.test('revises with a note and changes, and says the new id', async (t) => {
  const { app, at, owner, file, access } = await setup(t);
  const details = join(dirname(file), 'changes.json');
  await writeFile(details, JSON.stringify({ name: { value: 'Better genes' }, origin: 'overridden' }));
  const args = ['revise', at.dataset, file, '--note', 'Better genes than before', '--details', details, ...access];
  const revision = { owner, dataset: revisionOf(at.dataset, 1) };
  t.strictSame(await run('datasets', args), { code: EXIT.ok, out: `${revision.dataset}\n`, err: '' });
  const made = storedMetadata(app, revision);
  t.match(made, { name: 'Better genes', origin: 'overridden' });
  t.match(made.revisionHistory?.revisions[1], { revisionNote: 'Better genes than before' });
  const { documents, properties } = await app.queries.files(revision.dataset, signal);
  t.strictSame([documents, properties], [[], []]);
  t.strictSame(await app.uploads.source(revision.dataset, signal), {
    kind: 'files',
    files: [{ name: 'genes.txt', size: 14 }],
  });
});

t.test('lists what is searched, filtered and sorted, over all pages', async (t) => {
  const { app, at, owner, access } = await setup(t);
  for (const name of ['Babesia', 'Babesia later', 'Theileria'])
    await imported(app, db, owner, { name, summary: `On ${name}`, created: '2026-01-01T00:00:00.000Z' });
  const names = async (...args: string[]) => {
    const { out, err } = await run('datasets', ['list', '--json', ...args, ...access]);
    t.equal(err, '');
    return (JSON.parse(out) as { name: string }[]).map(({ name }) => name);
  };
  t.equal((await names()).length, 4);
  t.strictSame((await names('--search', 'babesia')).toSorted(), ['Babesia', 'Babesia later']);
  t.strictSame(await names('--search', 'babesia -later'), ['Babesia']);
  t.strictSame(await names('--sort', 'name', '--limit', '3'), ['Babesia', 'Babesia later', 'Genes of interest']);
  t.strictSame(await names('--sort', 'name', '--order', 'desc', '--limit', '1'), ['Theileria']);
  t.strictSame(await names('--name', 'THEIL', '--type', 'genelist@1.0', '--status', 'installing'), ['Theileria']);
  t.strictSame(await names('--updated-since', '2100-01-01'), []);
  const { out } = await run('datasets', ['list', '--search', at.dataset, ...access]);
  t.match(out, new RegExp(`^id +created .*\n${at.dataset} `), 'an id is a word');
  t.match(await fault('datasets', ['list', '--limit', '0', ...access]), [UsageError, undefined, /--limit '0'/]);
  t.match(await fault('datasets', ['list', '--search', '-', ...access]), [ApiError, 400, /'q' is '-': has no word/]);
});

t.test('shows every step with its status, and every message in full', async (t) => {
  const { app, at, owner, access } = await setup(t);
  const invalid = await add(
    app,
    db,
    owner,
    {},
    {
      upload_status: 'success',
      import_status: 'invalid',
      import_messages: '{"line 3: ABC is not a gene","line 7 has\n 2 columns, \u001b[31m3 are expected"}',
    },
  );
  const stepsOf = async (dataset: string) =>
    /^steps\n([\s\S]*)$/m.exec((await run('datasets', ['show', dataset, ...access])).out)?.[1];
  const waiting = ['  PlasmoSite data: waiting', '  PlasmoSite meta: waiting'];
  const expected = ['  upload: success', '  import: invalid', '    line 3: ABC is not a gene'];
  t.equal(
    await stepsOf(invalid.dataset),
    [...expected, '    line 7 has 2 columns, 3 are expected', ...waiting, ''].join('\n'),
  );
  await db.query(
    `insert into install_status (dataset_id, target_id, kind, status, messages)
     values ($1, 'PlasmoSite', 'data', 'failed-installation', '{"no such schema"}')`,
    [at.dataset],
  );
  t.match(await stepsOf(at.dataset), /^ {2}PlasmoSite data: failed-installation\n {4}no such schema$/m);
});

t.test('deletes, and takes the deletion back', async (t) => {
  const { at, access } = await setup(t);
  t.strictSame(await run('datasets', ['delete', at.dataset, ...access]), {
    code: EXIT.ok,
    out: `${at.dataset} deleted\n`,
    err: '',
  });
  t.equal(await stateOf(at), 'deleting');
  t.equal(
    (await run('datasets', ['undelete', at.dataset, '--json', ...access])).out,
    `{"datasetId":"${at.dataset}"}\n`,
  );
  t.equal(await stateOf(at), 'live');
});

t.test('offers a dataset to a user, and takes the offer back', async (t) => {
  const { app, at, access } = await setup(t);
  const friend = newUser();
  const share = ['share', at.dataset, '--with', friend, ...access];
  const shares = async () => (await app.queries.view(at.dataset, signal))?.shares;
  t.equal((await run('datasets', share)).out, `${at.dataset} offered to ${friend}\n`);
  t.strictSame(await shares(), [{ recipient: friend, granted: true, accepted: false }]);
  t.equal((await run('datasets', [...share, '--revoke'])).out, `${at.dataset} no longer offered to ${friend}\n`);
  t.strictSame(await shares(), [{ recipient: friend, granted: false, accepted: false }]);
});

t.test('says what is missing, and what the server does not accept', async (t) => {
  const { at, file, access } = await setup(t);
  const refused = async (...args: string[]) => fault('datasets', [...args, ...access]);
  const usage: readonly (readonly [args: readonly string[], message: string])[] = [
    [['revise', at.dataset, file], '--note TEXT is required: what is new in this revision'],
    [['revise', at.dataset, ...NOTE], 'a FILE or --url URL is required'],
    [['revise', at.dataset, `${file}.missing`, ...NOTE], `'${file}.missing' is not a readable file`],
    [['revise', ...NOTE], "ID is required: the dataset's id, as 'longshore datasets list' shows it"],
    [['share', at.dataset], '--with USER is required: the id of the other user'],
    [['delete', at.dataset, 'and-more'], "'and-more' is not expected here"],
  ];
  for (const [args, message] of usage) t.strictSame(await refused(...args), [UsageError, undefined, message]);
  t.strictSame(await refused('revise', at.dataset, file, '--note', 'short'), [
    ApiError,
    422,
    '422: the request holds values that are not accepted; see errors\n' +
      '  revisionNote: has 5 characters; text of 10 to 4096 characters is required',
  ]);
  const gone = `${at.dataset}_9`;
  t.strictSame(await refused('delete', gone), [ApiError, 404, `404: there is no dataset '${gone}'`]);
});
