import t from 'tap';
import { aborted, defect, kindOf, messageOf, transient } from '../../../engine/runtime/failure.ts';

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
