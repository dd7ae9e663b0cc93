// Every change of staff and providers, with its line to the database cut at each of its statements, or its process killed
// there.

import t from 'tap';
import { type App, replace } from './access-app.ts';
import { type Change, cutEverywhere, PROVIDER, patch, post, remove, stranger } from './cut-everywhere.ts';

const staffId = async (app: App, user: number): Promise<number> => {
  const { body } = await app.call('1', 'POST', '/staff', { userId: user, isOwner: false });
  return (body as { staffId: number }).staffId;
};
const providerId = async (app: App, user: number): Promise<number> => {
  const { body } = await app.call('1', 'POST', '/dataset-providers', { ...PROVIDER, userId: user });
  return (body as { providerId: number }).providerId;
};

const CHANGES: readonly Change[] = [
  {
    name: 'staff is added',
    status: 200,
    again: 409,
    call: async (_, user) => post('1', '/staff', { userId: user, isOwner: true }),
  },
  {
    ...{ name: 'staff becomes owner', status: 204, again: 204 },
    call: async (app, user) => patch('1', `/staff/${await staffId(app, user)}`, replace('/isOwner', true)),
  },
  {
    ...{ name: 'staff is removed', status: 204, again: 404 },
    call: async (app, user) => remove('1', `/staff/${await staffId(app, user)}`),
  },
  {
    ...{ name: 'a provider is added', status: 200, again: 409 },
    call: async (_, user) => post('2', '/dataset-providers', { ...PROVIDER, userId: user }),
  },
  {
    ...{ name: 'a provider is invited', status: 200, again: 429 },
    call: async (_, user) => post('2', '/dataset-providers', { ...PROVIDER, email: stranger(user) }),
  },
  {
    ...{ name: 'a provider becomes manager', status: 204, again: 204 },
    call: async (app, user) =>
      patch('2', `/dataset-providers/${await providerId(app, user)}`, replace('/isManager', true)),
  },
  {
    ...{ name: 'a provider is removed', status: 204, again: 404 },
    call: async (app, user) => remove('1', `/dataset-providers/${await providerId(app, user)}`),
  },
];

t.test('cut at every statement, a change is whole or not there, and can be asked for again', (t) =>
  cutEverywhere(t, CHANGES),
);
