// What the owner of a dataset reads while its jobs fail, and after: nothing of where things are inside, whatever failed.

import t from 'tap';
import { defect, transient } from '../../../engine/runtime/failure.ts';
import { worldBefore } from '../../support/lane-start.ts';

const INSIDE = /127\.0\.0\.1|10\.0\.0\.7|:8090|:5432|plugins\.lab|\/srv\/|\/opt\//;
const WORDS = [
  'POST http://127.0.0.1:8090/import: timeout, no response within 60000 ms',
  'connect ECONNREFUSED 10.0.0.7:5432',
  'getaddrinfo ENOTFOUND plugins.lab',
  "ENOSPC: no space left on device, write '/srv/sites/f'",
  'script /opt/longshore/bin/import took longer than its 60 s',
];
const FAILURES = WORDS.flatMap((word) => [transient(word), defect(word), new Error(word)]);

for (const lane of ['upload', 'import', 'install'] as const)
  t.test(`no message of the ${lane} lane says where things are inside`, async (t) => {
    for (const failure of FAILURES) {
      const { world, at } = await worldBefore(t, lane);
      const fail = (): never => {
        throw failure;
      };
      world.plugin.decide = fail;
      if (lane === 'upload') world.store.onCall = (call) => (call === 'get' ? fail() : undefined);
      for (let attempts = 0, over = false; attempts < 12 && !over; attempts++) {
        over = (await world.run(lane)).kind !== 'retry';
        const said = JSON.stringify([world.dataset(at), await world.control(at)]);
        t.match(said, /internal|ENOTFOUND|no space left|script import/, 'what failed is said');
        t.notMatch(said, INSIDE, failure.message);
        await world.clock.advanceToNext();
      }
      if (lane !== 'upload') continue;
      world.store.onCall = () => undefined;
      t.notMatch(JSON.stringify(world.json(at, 'upload-error.json')), INSIDE, failure.message);
    }
  });
