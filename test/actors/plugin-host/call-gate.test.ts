import t from 'tap';
import { CallGate } from '../../../actors/plugin-host/call-gate.ts';
import { Busy } from '../../../engine/runtime/failure.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

const signal = new AbortController().signal;

t.test('rejects calls when too many are being served', async (t) => {
  const gate = new CallGate({ maxScripts: 1, maxCalls: 2, maxWaitMs: 100 }, new VirtualClock());
  const first = gate.admit();
  gate.admit();
  t.throws(() => gate.admit(), { kind: 'transient', message: '2 calls are being served already' });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  t.equal(gate.calls, 1, 'leaving twice counts once');
  gate.admit();
  t.throws(() => gate.admit(), Busy);
});

t.test('runs one call per key and a bounded number of scripts, in order', async (t) => {
  const gate = new CallGate({ maxScripts: 2, maxCalls: 10, maxWaitMs: 1_000 }, new VirtualClock());
  const entered: string[] = [];
  const enter = async (name: string, key: string) => {
    const turn = await gate.enter(key, signal);
    entered.push(name);
    return turn;
  };
  const a1 = await enter('a1', 'a');
  const waitingA2 = enter('a2', 'a');
  const b1 = await enter('b1', 'b');
  const waitingC1 = enter('c1', 'c');
  t.same([entered, gate.scripts], [['a1', 'b1'], 2]);
  b1[Symbol.dispose]();
  const c1 = await waitingC1;
  a1[Symbol.dispose]();
  const a2 = await waitingA2;
  t.same(entered, ['a1', 'b1', 'c1', 'a2']);
  a2[Symbol.dispose]();
  c1[Symbol.dispose]();
  t.equal(gate.scripts, 0);
});

t.test('a call begins with its turn, before it has a place, and gives the turn back when that fails', async (t) => {
  const gate = new CallGate({ maxScripts: 1, maxCalls: 10, maxWaitMs: 1_000 }, new VirtualClock());
  const began: string[] = [];
  const beginning = (name: string) => async () => void began.push(name);
  const first = await gate.enter('a', signal, beginning('a1'));
  const sameKey = gate.enter('a', signal, beginning('a2'));
  const otherKey = gate.enter('b', signal, beginning('b1'));
  await new Promise(setImmediate);
  t.same(began, ['a1', 'b1'], 'the second of the key has no turn yet, the other waits for a place only');
  const broken = gate.enter('c', signal, () => Promise.reject(new Error('no disk')));
  await t.rejects(broken, { message: 'no disk' });
  t.notOk(gate.isTaken('c'));
  first[Symbol.dispose]();
  (await otherKey)[Symbol.dispose]();
  (await sameKey)[Symbol.dispose]();
  t.same(began, ['a1', 'b1', 'a2']);
  t.equal(gate.scripts, 0);
});

t.test('no call waits longer than allowed, and an aborted wait leaves no trace', async (t) => {
  const clock = new VirtualClock();
  const gate = new CallGate({ maxScripts: 1, maxCalls: 10, maxWaitMs: 500 }, clock);
  const first = await gate.enter('a', signal);
  const sameKey = gate.enter('a', signal);
  const otherKey = gate.enter('b', signal);
  const stop = new AbortController();
  const leaving = gate.enter('b', stop.signal);
  stop.abort(new Error('hung up'));
  await t.rejects(leaving, { message: 'hung up' });
  const refused = [sameKey, otherKey].map((wait) =>
    t.rejects(wait, { kind: 'transient', message: 'no free turn within 500 ms' }),
  );
  await clock.advance(500);
  await Promise.all(refused);
  first[Symbol.dispose]();
  const next = await gate.enter('b', signal);
  t.equal(gate.scripts, 1);
  next[Symbol.dispose]();
  t.equal(gate.scripts, 0);
});
