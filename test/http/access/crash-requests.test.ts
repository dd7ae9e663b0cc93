// Every way in which an access request comes to be, and what happens by itself, with the line to the database cut at each
// statement, or the process killed there.

import t from 'tap';
import { type App, asks } from './access-app.ts';
import { type Change, change, cutEverywhere, keyed, PROVIDER, post, REQUEST, stranger } from './cut-everywhere.ts';

const enters = (body: (user: number) => object) => async (_: App, user: number) =>
  post('2', '/dataset-end-users', { ...REQUEST, ...body(user) });

const ASKED = change('a person asks', 200, 409, async (_, userId) =>
  post(String(userId), '/dataset-end-users', { ...REQUEST, userId }),
);

const CHANGES: readonly Change[] = [
  ASKED,
  keyed(ASKED),
  change(
    'a manager enters a person',
    200,
    409,
    enters((userId) => ({ userId, approvalStatus: 'approved' })),
  ),
  change('a manager enters a person by address', 200, 409, async (app, user) => {
    await app.call(String(user), 'GET', '/permissions');
    return post('2', '/dataset-end-users', { ...REQUEST, email: `u${user}@site.example` });
  }),
  change(
    'a person is invited',
    200,
    429,
    enters((user) => ({ email: stranger(user) })),
  ),
  change('a request is approved by waiting', 204, 204, async (app, user) => {
    await asks(app, user, 'controlled');
    return { who: undefined, method: 'POST', path: '/approve-eligible-access-requests' };
  }),
  ...(['/dataset-providers', '/dataset-end-users'] as const).map((path) => ({
    ...{ name: `who was invited by ${path} comes`, status: 200, again: 200, beside: true as const },
    call: async (app: App, user: number) => {
      const record = path === '/dataset-providers' ? PROVIDER : REQUEST;
      await app.call('2', 'POST', path, { ...record, email: `u${user}@site.example` });
      return { who: String(user), method: 'GET', path: '/permissions' };
    },
  })),
];

t.test('cut at every statement, a change is whole or not there, and can be asked for again', (t) =>
  cutEverywhere(t, CHANGES),
);
