import t from 'tap';
import { transient } from '../../../engine/runtime/failure.ts';
import { fromWire, toWire } from '../../../engine/threads/thread-messages.ts';

t.test(
  'a failure of a thread arrives with everything that decides about retries, and with the stack of its place',
  (t) => {
    const thrown = transient('no answer', { unreachable: true, unanswered: true, maxAttempts: 3 });
    const arrived = fromWire(structuredClone(toWire(thrown)));
    const { kind, message, unreachable, unanswered, maxAttempts, stack } = thrown;
    t.match(arrived, { kind, message, unreachable, unanswered, maxAttempts, stack });
    t.end();
  },
);
