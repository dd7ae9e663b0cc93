import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { observeProcess } from '../../../engine/runtime/process-metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';

t.test('an event loop that was blocked is seen in its longest delays', async (t) => {
  const metrics = new Metrics();
  using _observed = observeProcess(metrics, systemClock);
  const p99 = async (): Promise<number> =>
    Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(await metrics.text())?.[1]);
  await systemClock.sleep(30);
  const end = systemClock.now() + 300;
  while (systemClock.now() < end);
  for (let turns = 0; turns < 100 && (await p99()) < 0.2; turns++) await turn();
  t.ok((await p99()) >= 0.2, 'of the 300 ms that it was blocked');
});
