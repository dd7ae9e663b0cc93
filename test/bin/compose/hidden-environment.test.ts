// What of its environment a process that runs programs of others keeps in sight of them.

import t from 'tap';
import { partsOf } from '../../../bin/compose/hidden-environment.ts';

t.test('what the system and the runtime look for stays in sight, all else is hidden', async (t) => {
  const inSight = { PATH: '/bin', LC_ALL: 'C', NODE_OPTIONS: '--no-warnings', NOTIFY_SOCKET: '/run/n', TMPDIR: '/t' };
  const hidden = { DB_PASSWORD: 'a', AWS_SECRET_ACCESS_KEY: 'b', PGPASSWORD: 'c', PATHS: 'd', XPATH: 'e' };
  t.strictSame(partsOf({ ...hidden, UNSET: undefined, ...inSight }), { inSight, hidden });
});

t.test('the mark of a process that has started anew is handed to nobody', async (t) => {
  t.strictSame(partsOf({ LONGSHORE_HIDDEN_ENVIRONMENT: '1' }), { inSight: {}, hidden: {} });
});
