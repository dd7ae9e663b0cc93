import t from 'tap';
import {
  aborted,
  defect,
  kindOf,
  messageOf,
  publicMessage,
  publicOutcome,
  rejected,
  transient,
  withoutInternals,
} from '../../../engine/runtime/failure.ts';

t.test('the kind of anything thrown', async (t) => {
  const thrown = [
    transient('away'),
    aborted('stopped'),
    defect('a bug'),
    new DOMException('cut', 'AbortError'),
    'text',
  ];
  t.strictSame(thrown.map(kindOf), ['transient', 'aborted', 'defect', 'aborted', 'defect']);
});

t.test('what a person should read of anything thrown', async (t) => {
  const refused = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}:5432`));
  t.strictSame(
    [
      messageOf(transient('away')),
      messageOf('text'),
      messageOf(new AggregateError(refused)),
      messageOf(new AggregateError([new Error('away'), new Error('away')])),
      messageOf(new AggregateError(refused, 'a message of its own')),
    ],
    [
      'away',
      'text',
      'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
      'away',
      'a message of its own',
    ],
  );
});

/** As adapters word what went wrong, and what is left for users. */
const WORDED: readonly (readonly [string, string])[] = [
  [
    'POST http://127.0.0.1:8090/import: timeout, no response within 60000 ms',
    'POST an internal address: timeout, no response within 60000 ms',
  ],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED an internal address'],
  ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED an internal address'],
  ['connect ECONNREFUSED [fe80::1]:5432; again', 'connect ECONNREFUSED an internal address; again'],
  ['connect EHOSTUNREACH 2001:db8::7', 'connect EHOSTUNREACH an internal address'],
  ['getaddrinfo ENOTFOUND plugins.lab.internal', 'getaddrinfo ENOTFOUND'],
  ['queue broker rabbit.lab:5672: closed', 'queue broker an internal address: closed'],
  ['script /opt/longshore/bin/import ended with exit code 1', 'script import ended with exit code 1'],
  ["ENOSPC: no space left on device, write '/srv/sites/x y/f'", "ENOSPC: no space left on device, write 'x y/f'"],
  ['postgres://longshore:secret@db.lab/sites is away', 'an internal address is away'],
  ['attempt 1 of 12: busy (HTTP 503)', 'attempt 1 of 12: busy (HTTP 503)'],
  ['3/4 of it is text/plain', '3/4 of it is text/plain'],
];

t.test('where things are inside is not said', async (t) => {
  for (const [inside, told] of WORDED) t.equal(withoutInternals(inside), told);
});

t.test('what is about the user’s own data is said as it is', async (t) => {
  const message = "the URL http://data.example:8080/x answers 404; entry '/a/b' has an absolute path";
  t.equal(publicMessage(rejected(message)), message);
  t.equal(publicOutcome({ kind: 'dead', failure: 'rejected', message }), message);
});

t.test('what the user gave may be read again, beside it nothing', async (t) => {
  const message = 'http://data.example/a answered 503; connect ECONNREFUSED 10.0.0.7:80, http://data.example/a again';
  t.equal(
    publicOutcome({ kind: 'retry', message }, 'http://data.example/a'),
    'http://data.example/a answered 503; connect ECONNREFUSED an internal address, http://data.example/a again',
  );
});

t.test('every other failure is told without the inside', async (t) => {
  const message = 'GET http://10.0.0.7:8090/x';
  for (const error of [transient(message), defect(message), new Error(message)])
    t.equal(publicMessage(error), 'GET an internal address');
  t.equal(publicOutcome({ kind: 'retry', message }), 'GET an internal address');
  t.equal(publicOutcome({ kind: 'dead', failure: 'defect', message }), 'GET an internal address');
});
