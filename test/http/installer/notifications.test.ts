import t from 'tap';
import { cacheDatabase } from '../../support/cache-database.ts';
import { newUser } from '../../support/dataset-samples.ts';
import { installerApp } from './installer-app.ts';
import { responseFaults, schemaOf } from './response-check.ts';

const db = await cacheDatabase(t);
const app = await installerApp(t, db);
const PATH = '/users/self/notifications';
const patch = (user: string, body: unknown) =>
  app.call(user, 'PATCH', PATH, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

t.test('nobody gets mails unasked; whoever wants some says about what', async (t) => {
  const user = newUser();
  const first = await app.call(user, 'GET', PATH);
  t.strictSame(responseFaults(schemaOf(app.routes, 'getNotifications', 200), first.text), []);
  t.strictSame(first.body, { mail: [], mailsAreSent: true });
  const changed = await patch(user, { mail: ['installed', 'failed'] });
  t.strictSame(changed.body, { mail: ['installed', 'failed'], mailsAreSent: true });
  t.strictSame((await patch(user, {})).body, changed.body, 'nothing changes');
  t.strictSame((await app.call(user, 'GET', PATH)).body, changed.body);
  t.strictSame((await app.call(newUser(), 'GET', PATH)).body, first.body, 'of another user');
  t.strictSame((await patch(user, { mail: [] })).body, first.body);
});

t.test('what is not mailed is refused: requests for access have mails of their own', async (t) => {
  for (const mail of [['access-approved'], ['born'], ['installed', 'installed'], 'installed'])
    t.match(await patch(newUser(), { mail }), { status: 422 }, String(mail));
  t.match(await patch(newUser(), { mails: [] }), { status: 422 });
});

t.test('an installation without a mail server says so', async (t) => {
  const silent = await installerApp(t, db, { settings: { mailsAreSent: false } });
  t.match((await silent.call(newUser(), 'GET', PATH)).body, { mailsAreSent: false });
});
