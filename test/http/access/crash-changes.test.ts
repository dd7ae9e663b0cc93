// Every change of an access request, with its line to the database cut at each of its statements, or its process killed
// there.

import t from 'tap';
import { replace, TEXTS } from './access-app.ts';
import { about, type Change, change, cutEverywhere, patch, remove, requestPath } from './cut-everywhere.ts';

const decides = (...items: object[]) => about({}, (user) => patch('2', requestPath(user), ...items));

const CHANGES: readonly Change[] = [
  change(
    ...(['a person edits', 204, 204] as const),
    about({}, (user) =>
      patch(String(user), requestPath(user), replace('/purpose', 'Other'), replace('priorAuth', 'New')),
    ),
  ),
  change('a manager approves', 204, 204, decides(replace('/approvalStatus', 'approved'), replace('/duration', 9))),
  change(
    ...(['a manager denies', 204, 204] as const),
    about({ approvalStatus: 'approved' }, (user) =>
      patch('2', requestPath(user), replace('/approvalStatus', 'denied')),
    ),
  ),
  change(
    ...(['an owner edits', 204, 204] as const),
    about({}, (user) => patch('1', requestPath(user), replace('/startDate', '2027-01-01T00:00:00Z'))),
  ),
  change('a manager changes nothing', 204, 204, decides(replace('/purpose', TEXTS.purpose))),
  change('a change is refused', 422, 422, decides(replace('/purpose', 'Other'), replace('/approvalStatus', 'none'))),
  change(
    'a manager removes',
    204,
    404,
    about({}, (user) => remove('2', requestPath(user))),
  ),
  change(
    'a person withdraws',
    204,
    404,
    about({}, (user) => remove(String(user), requestPath(user))),
  ),
];

t.test('cut at every statement, a change is whole or not there, and can be asked for again', (t) =>
  cutEverywhere(t, CHANGES),
);
