// A front end without routes of its own, as the program makes it of a configuration.

import { frontEnd } from '../../../bin/compose/front-end.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { Metrics } from '../../../engine/runtime/metrics.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { HTTP_DEFAULTS } from '../../bench/http-settings.ts';
import { patientGuesses, unreadTrail } from '../../http/http-app.ts';

interface Teardown {
  teardown(fn: () => unknown): void;
}

/** Returns its base URL. It stops when the test ends. */
export async function runningFrontEnd(t: Teardown, http: Partial<typeof HTTP_DEFAULTS>): Promise<string> {
  const front = await frontEnd(
    { http: { ...HTTP_DEFAULTS, ...http } },
    {
      name: 'installer',
      host: '127.0.0.1',
      port: 0,
      routes: [],
      checks: [],
      auth: {
        ...{ adminToken: undefined, guesses: patientGuesses(), verify: undefined, operators: false },
        ...{ queryToken: false, remember: async () => undefined },
      },
    },
    { clock: systemClock, log: silentLogger(), metrics: new Metrics(), ready: () => true, trail: unreadTrail() },
  );
  const server = front.spec.create();
  await server.start(new AbortController().signal);
  t.teardown(() => server.stop(systemClock.now() + 1_000));
  return front.url();
}
