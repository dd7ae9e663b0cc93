import t from 'tap';
import { aborted, defect, kindOf, lackOf, messageOf, transient } from '../../../engine/runtime/failure.ts';

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

t.test('what is full or away is found wherever it lies, and fullness comes first', async (t) => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const away = transient('connect ECONNREFUSED', { lack: 'database' });
  for (const [error, lack] of [
    [full, 'room'],
    [transient('put', { cause: full, lack: 'storage' }), 'room'],
    [Object.assign(new Error('full'), { code: 'XMinioStorageFull' }), 'room'],
    [away, 'database'],
    [new Error('listing', { cause: away }), 'database'],
    [transient('put', { lack: 'storage', cause: new Error('reset') }), 'storage'],
    [transient('busy'), undefined],
    ['text', undefined],
  ] as const)
    t.equal(lackOf(error), lack);
});
