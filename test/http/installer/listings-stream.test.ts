import t from 'tap';
import { targetId } from '../../../engine/model/ids.ts';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';
import { add, imported, share } from './stored-datasets.ts';

const signal = new AbortController().signal;
const db = await cacheDatabase(t);

t.test('the listing shows own and accepted datasets, newest first, as the schema says', async (t) => {
  const app = await installerApp(t, db);
  const [me, friend] = [newUser(), newUser()];
  await app.accounts.remember(
    { userId: friend, firstName: 'Fay', lastName: 'Doe', email: 'f@x.org', affiliation: 'X' },
    signal,
  );
  const old = await imported(app, db, me, { created: '2026-01-01T00:00:00.000Z' });
  await share(db, old, friend, 'grant', 'accept');
  const recent = await add(app, db, me, {
    created: '2026-03-01T00:00:00.000Z',
    visibility: 'protected',
    daysForApproval: 0,
    installTargets: [targetId('ToxoSite')],
  });
  const theirs = await add(app, db, friend, { created: '2026-02-01T00:00:00.000Z' });
  await share(db, theirs, me, 'grant', 'accept');
  const offered = await add(app, db, friend);
  await share(db, offered, me, 'grant', null);

  const ids = async (query: string) => {
    const answer = await app.call(me, 'GET', `/datasets${query}`);
    t.strictSame(responseFaults(schemaOf(app.routes, 'listDatasets', 200), answer.text), [], query);
    return (answer.body as { datasetId: string }[]).map((item) => item.datasetId);
  };
  t.strictSame(await ids(''), [recent.dataset, theirs.dataset, old.dataset]);
  t.strictSame(await ids('?ownership=owned'), [recent.dataset, old.dataset]);
  t.strictSame(await ids('?ownership=shared'), [theirs.dataset]);
  t.strictSame(await ids('?limit=1&offset=1'), [theirs.dataset]);
  t.strictSame(await ids('?limit=-1&offset=2'), [old.dataset]);
  t.strictSame(await ids('?limit=0'), []);
  t.strictSame(await ids('?install_target=ToxoSite'), [recent.dataset]);

  const { body, text } = await app.call(me, 'GET', '/datasets', { headers: { 'api-version': '1.8.0' } });
  t.match(text, `"userId":${me},`, 'every digit of a large user id');
  const [, shared, own] = body as [unknown, { owner: object }, { fileSizeTotal: number; shares: object[] }];
  t.match(shared.owner, { firstName: 'Fay', email: 'f@x.org' });
  t.match([own.fileSizeTotal, own.shares], [7, [{ firstName: 'Fay', accepted: true }]]);
});

t.test('a listing counts as far as a safe integer, and no further', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  for (const path of ['/datasets', '/datasets/community', '/users/self/share-offers'])
    for (const name of ['limit', 'offset']) {
      t.equal((await app.call(user, 'GET', `${path}?${name}=9007199254740991`)).status, 200, `${path} ${name}`);
      for (const beyond of ['9007199254740992', '99999999999999999999', '1e30'])
        t.equal((await app.call(user, 'GET', `${path}?${name}=${beyond}`)).status, 400, `${path} ${name}=${beyond}`);
    }
});

t.test('an empty listing is an empty array', async (t) => {
  const app = await installerApp(t, db);
  const answer = await app.call(newUser(), 'GET', '/datasets');
  t.strictSame([answer.status, answer.body], [200, []]);
});

t.test('a wrong query parameter of the listing is 400 and named', async (t) => {
  const app = await installerApp(t, db);
  const user = newUser();
  for (const [query, message] of [
    ['install_target=Nowhere', /^query parameter 'install_target' is 'Nowhere'; install targets are PlainSite, /],
    ['install_target=abc', /^query parameter 'install_target' is 'abc': /],
    ['ownership=mine', /^query parameter 'ownership' is 'mine': one of any, owned, shared$/],
    ['limit=-2', /^query parameter 'limit' is '-2': /],
    ['offset=x', /^query parameter 'offset' is 'x': /],
    ['page=1', /^query parameter 'page' is unknown; known: install_target, ownership, limit, offset, name, type, /],
  ] as const) {
    t.match(
      await app.call(user, 'GET', `/datasets?${query}`),
      { status: 400, body: { status: 'bad-request', message } },
      query,
    );
  }
});
