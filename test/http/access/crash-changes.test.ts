// Every change of an access request, with its line to the database cut at each of its statements, or its process killed
// there.

import t from 'tap';
import { replace, TEXTS } from './access-app.ts';
import { about, type Change, cutEverywhere, patch, remove, requestPath } from './cut-everywhere.ts';

const CHANGES: readonly Change[] = [
  {
    ...{ name: 'a person edits', status: 204, again: 204 },
    call: about({}, (user) =>
      patch(String(user), requestPath(user), replace('/purpose', 'Other'), replace('priorAuth', 'New')),
    ),
  },
  {
    ...{ name: 'a manager approves', status: 204, again: 204 },
    call: about({}, (user) =>
      patch('2', requestPath(user), replace('/approvalStatus', 'approved'), replace('/duration', 9)),
    ),
  },
  {
    ...{ name: 'a manager denies', status: 204, again: 204 },
    call: about({ approvalStatus: 'approved' }, (user) =>
      patch('2', requestPath(user), replace('/approvalStatus', 'denied')),
    ),
  },
  {
    ...{ name: 'an owner edits', status: 204, again: 204 },
    call: about({}, (user) => patch('1', requestPath(user), replace('/startDate', '2027-01-01T00:00:00Z'))),
  },
  {
    ...{ name: 'a manager changes nothing', status: 204, again: 204 },
    call: about({}, (user) => patch('2', requestPath(user), replace('/purpose', TEXTS.purpose))),
  },
  {
    ...{ name: 'a change is refused', status: 422, again: 422 },
    call: about({}, (user) =>
      patch('2', requestPath(user), replace('/purpose', 'Other'), replace('/approvalStatus', 'none')),
    ),
  },
  { name: 'a manager removes', status: 204, again: 404, call: about({}, (user) => remove('2', requestPath(user))) },
  {
    name: 'a person withdraws',
    status: 204,
    again: 404,
    call: about({}, (user) => remove(String(user), requestPath(user))),
  },
];

t.test('cut at every statement, a change is whole or not there, and can be asked for again', (t) =>
  cutEverywhere(t, CHANGES),
);
