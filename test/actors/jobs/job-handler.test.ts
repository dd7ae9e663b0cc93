import t from 'tap';
import { decideOutcome } from '../../../actors/jobs/job-handler.ts';
import { pluginServerError } from '../../../actors/plugins/plugin-breakers.ts';
import type { JobOutcome } from '../../../engine/ports/jobs.ts';
import { aborted, defect, rejected, transient } from '../../../engine/runtime/failure.ts';
import { ThreadDied } from '../../../engine/threads/thread-group.ts';

const policy = { attempts: 12, baseMs: 1000, maxMs: 600_000 };
const lowest = (): number => 0;

t.test('a transient failure is tried again until its attempts are used up', async (t) => {
  t.same(decideOutcome(transient('down'), { attempts: 0 }, policy, lowest), {
    kind: 'retry',
    delayMs: 1000,
    message: 'attempt 1 of 12: down',
    countsAttempt: true,
  });
  t.same(decideOutcome(transient('down'), { attempts: 11 }, policy, lowest), {
    kind: 'dead',
    failure: 'transient',
    message: 'down',
  });
});

t.test('a dependency that was not reached costs no try, however often', async (t) => {
  t.match(decideOutcome(transient('refused', { unreachable: true }), { attempts: 11 }, policy, lowest), {
    kind: 'retry',
    countsAttempt: false,
  });
});

t.test(
  "a failure that is worth fewer attempts than the lane's gets those, and never more than the lane's",
  async (t) => {
    const late = transient('time-out', { maxAttempts: 3 });
    const broken = pluginServerError('genelist', 'disk full');
    for (const [failure, message] of [
      [late, 'time-out'],
      [broken, 'plugin genelist: disk full'],
    ] as const) {
      t.match(decideOutcome(failure, { attempts: 1 }, policy, lowest), {
        kind: 'retry',
        message: `attempt 2 of 3: ${message}`,
      });
      t.match(decideOutcome(failure, { attempts: 2 }, policy, lowest), { kind: 'dead', failure: 'transient' });
    }
    t.match(decideOutcome(late, { attempts: 1 }, { ...policy, attempts: 2 }, lowest), { kind: 'dead' });
    const away = transient('refused', { maxAttempts: 3, unreachable: true });
    t.match(decideOutcome(away, { attempts: 11 }, policy, lowest), { kind: 'retry', countsAttempt: false });
  },
);

t.test('the third death of a thread with one job alone in it is the end of that job', async (t) => {
  const died = new ThreadDied('the worker thread died: out of memory', true);
  const again: JobOutcome = { kind: 'requeue', crashed: true };
  t.same(decideOutcome(died, { attempts: 0, alone: false, crashes: 2 }, policy, lowest), again);
  t.same(decideOutcome(died, { attempts: 0, alone: true, crashes: 1 }, policy, lowest), again);
  t.same(decideOutcome(died, { attempts: 0, alone: true, crashes: 2 }, policy, lowest), {
    kind: 'dead',
    failure: 'defect',
    message: 'its worker crashed 3 times while the job ran alone: the worker thread died: out of memory',
  });
  const ended = new ThreadDied('ended because of another task', false);
  t.same(decideOutcome(ended, { attempts: 0, alone: true, crashes: 2 }, policy, lowest), {
    kind: 'requeue',
    crashed: false,
  });
});

t.test('a rejection and a defect are final, a stop is not a failure', async (t) => {
  t.match(decideOutcome(rejected('bad'), { attempts: 0 }, policy, lowest), { kind: 'dead', failure: 'rejected' });
  t.match(decideOutcome(defect('bug'), { attempts: 0 }, policy, lowest), { kind: 'dead', failure: 'defect' });
  t.match(decideOutcome(new Error('who knows'), { attempts: 0 }, policy, lowest), { kind: 'dead', failure: 'defect' });
  t.same(decideOutcome(aborted('stop'), { attempts: 0 }, policy, lowest), { kind: 'requeue', crashed: false });
});
