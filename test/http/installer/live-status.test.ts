import t from 'tap';
import { targetId } from '../../../engine/model/ids.ts';
import type { InstallRecord } from '../../../engine/ports/catalog.ts';
import type { ControlState } from '../../../engine/ports/install-target.ts';
import { transient } from '../../../engine/runtime/failure.ts';
import { liveInstallStatus } from '../../../http/installer/live-status.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { TARGETS, viewed } from './datasets.ts';

const signal = new AbortController().signal;
const [PLAIN, GENOME] = TARGETS as [(typeof TARGETS)[number], (typeof TARGETS)[number]];
const MIRROR: readonly InstallRecord[] = [
  { target: GENOME, kind: 'data', status: 'running', messages: [] },
  { target: PLAIN, kind: 'data', status: 'queued', messages: ['attempt 1 of 12: away'] },
];
const updated = new Date(0);
const INSTALLED: ControlState = {
  present: true,
  type: { name: 'genelist', version: '1.0' },
  deletedStatus: 0,
  messages: {
    meta: { status: 'complete', message: undefined, updated },
    data: { status: 'complete', message: 'one row is odd\nanother too', updated },
  },
  sync: {},
};
const answering = { state: async () => INSTALLED };

t.test('every target tells its own status, line by line', async (t) => {
  const clock = new VirtualClock();
  const source = liveInstallStatus(
    new Map([
      [PLAIN, answering],
      [GENOME, { state: async () => ({ ...INSTALLED, messages: {} }) }],
    ]),
    clock,
  );
  t.strictSame(await source(viewed({ installs: MIRROR }), signal), [
    { target: PLAIN, kind: 'meta', status: 'complete', messages: [] },
    { target: PLAIN, kind: 'data', status: 'complete', messages: ['one row is odd', 'another too'] },
  ]);
  t.equal(clock.pending, 0, 'no deadline is left');
});

t.test('an install that has not begun says why it waits, which only the cache knows', async (t) => {
  const states = new Map([PLAIN, GENOME].map((id) => [id, { state: async () => ({ ...INSTALLED, messages: {} }) }]));
  const source = liveInstallStatus(states, new VirtualClock());
  t.strictSame(await source(viewed({ installs: MIRROR }), signal), [
    { target: PLAIN, kind: 'data', status: 'queued', messages: ['attempt 1 of 12: away'] },
  ]);
});

t.test('an install whose job was given up is failed, though its target could not be told', async (t) => {
  const stopped = { kind: 'data', status: 'failed-installation', messages: ['an operator stopped this step'] } as const;
  const running = { data: { status: 'running', message: undefined, updated } } as const;
  const states = new Map([
    [PLAIN, { state: async () => ({ ...INSTALLED, messages: running }) }],
    [GENOME, answering],
  ]);
  const installs = [PLAIN, GENOME].map((target): InstallRecord => ({ ...stopped, target }));
  t.strictSame(await liveInstallStatus(states, new VirtualClock())(viewed({ installs }), signal), [
    { ...stopped, target: PLAIN },
    { target: GENOME, kind: 'meta', status: 'complete', messages: [] },
    { target: GENOME, kind: 'data', status: 'complete', messages: ['one row is odd', 'another too'] },
  ]);
});

t.test('a target that is away or silent shows what was last known, and keeps nobody waiting', async (t) => {
  const clock = new VirtualClock();
  const source = liveInstallStatus(
    new Map([
      [
        PLAIN,
        {
          state: async () => {
            throw transient('database sites at db.example:5432: connection refused', { unreachable: true });
          },
        },
      ],
      [GENOME, { state: () => new Promise<never>(() => {}) }],
    ]),
    clock,
  );
  const asked = source(viewed({ installs: MIRROR }), signal);
  await clock.advance(2_000);
  const away = `last known status: ${PLAIN} does not respond (it cannot be reached)`;
  const silent = `last known status: ${GENOME} does not respond (no response within 2000 ms)`;
  t.strictSame(await asked, [
    { target: PLAIN, kind: 'meta', status: 'queued', messages: [away] },
    { target: PLAIN, kind: 'data', status: 'queued', messages: ['attempt 1 of 12: away', away] },
    { target: GENOME, kind: 'meta', status: 'queued', messages: [silent] },
    { target: GENOME, kind: 'data', status: 'running', messages: [silent] },
  ]);
});

t.test('nobody is asked before the import is complete, nor a target that is disabled', async (t) => {
  let asked = 0;
  const counting = {
    state: async () => {
      asked++;
      return INSTALLED;
    },
  };
  const source = liveInstallStatus(new Map([[targetId('Elsewhere'), counting]]), new VirtualClock());
  const waiting = viewed({ import: { status: 'queued', messages: [] }, installs: MIRROR });
  t.strictSame(await source(waiting, signal), MIRROR);
  t.match(await source(viewed({ installs: MIRROR }), signal), [{ target: PLAIN, kind: 'meta', status: 'queued' }]);
  t.equal(asked, 0);
});

t.test('a caller who goes away ends the question', async (t) => {
  const stop = new AbortController();
  const source = liveInstallStatus(
    new Map([[PLAIN, { state: () => new Promise<never>(() => {}) }]]),
    new VirtualClock(),
  );
  const asked = source(viewed(), stop.signal);
  stop.abort(new Error('gone'));
  await t.rejects(asked, /gone/);
});
