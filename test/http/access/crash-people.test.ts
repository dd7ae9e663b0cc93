// Every change of staff and providers, with its line to the database cut at each of its statements, or its process killed
// there.

import t from 'tap';
import { type App, replace } from './access-app.ts';
import {
  type Change,
  change,
  cutEverywhere,
  keyed,
  PROVIDER,
  patch,
  post,
  remove,
  stranger,
} from './cut-everywhere.ts';

/** The id of what is made so, under that name. */
const made = async (app: App, path: string, body: object, name: string): Promise<unknown> =>
  ((await app.call('1', 'POST', path, body)).body as Record<string, unknown>)[name];
const staff = async (app: App, userId: number) =>
  `/staff/${await made(app, '/staff', { userId, isOwner: false }, 'staffId')}`;
const provider = async (app: App, userId: number) =>
  `/dataset-providers/${await made(app, '/dataset-providers', { ...PROVIDER, userId }, 'providerId')}`;

const STAFF = change('staff is added', 200, 409, async (_, userId) => post('1', '/staff', { userId, isOwner: true }));
const INVITED = change('a provider is invited', 200, 429, async (_, user) =>
  post('2', '/dataset-providers', { ...PROVIDER, email: stranger(user) }),
);

const CHANGES: readonly Change[] = [
  STAFF,
  keyed(STAFF),
  change('staff becomes owner', 204, 204, async (app, user) =>
    patch('1', await staff(app, user), replace('/isOwner', true)),
  ),
  change('staff is removed', 204, 404, async (app, user) => remove('1', await staff(app, user))),
  change('a provider is added', 200, 409, async (_, userId) =>
    post('2', '/dataset-providers', { ...PROVIDER, userId }),
  ),
  INVITED,
  keyed(INVITED),
  change('a provider becomes manager', 204, 204, async (app, user) =>
    patch('2', await provider(app, user), replace('/isManager', true)),
  ),
  change('a provider is removed', 204, 404, async (app, user) => remove('1', await provider(app, user))),
];

t.test('cut at every statement, a change is whole or not there, and can be asked for again', (t) =>
  cutEverywhere(t, CHANGES),
);
