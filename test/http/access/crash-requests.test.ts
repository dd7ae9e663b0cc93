// Every way in which an access request comes to be, and what happens by itself, with the line to the database cut at each
// statement, or the process killed there.

import t from 'tap';
import { type App, asks } from './access-app.ts';
import { type Change, cutEverywhere, PROVIDER, post, REQUEST, stranger } from './cut-everywhere.ts';

const CHANGES: readonly Change[] = [
  {
    ...{ name: 'a person asks', status: 200, again: 409 },
    call: async (_, user) => post(String(user), '/dataset-end-users', { ...REQUEST, userId: user }),
  },
  {
    ...{ name: 'a manager enters a person', status: 200, again: 409 },
    call: async (_, user) => post('2', '/dataset-end-users', { ...REQUEST, userId: user, approvalStatus: 'approved' }),
  },
  {
    ...{ name: 'a manager enters a person by address', status: 200, again: 409 },
    call: async (app, user) => {
      await app.call(String(user), 'GET', '/permissions');
      return post('2', '/dataset-end-users', { ...REQUEST, email: `u${user}@site.example` });
    },
  },
  {
    ...{ name: 'a person is invited', status: 200, again: 429 },
    call: async (_, user) => post('2', '/dataset-end-users', { ...REQUEST, email: stranger(user) }),
  },
  {
    ...{ name: 'a request is approved by waiting', status: 204, again: 204 },
    call: async (app, user) => {
      await asks(app, user, 'controlled');
      return { who: undefined, method: 'POST', path: '/approve-eligible-access-requests' };
    },
  },
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
