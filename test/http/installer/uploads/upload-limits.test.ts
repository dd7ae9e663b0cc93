import { Readable } from 'node:stream';
import t from 'tap';
import { ByteMeter } from '../../../../http/installer/uploads/upload-limits.ts';

const signal = new AbortController().signal;

/** A meter of at most 100 bytes, whose owner has room for `room` of them; asks are recorded. */
function setup(room = Number.POSITIVE_INFINITY, more: { readonly empty?: () => Error } = {}) {
  const asked: number[] = [];
  const meter = new ByteMeter({
    maxBytes: 100,
    reserve: async (wanted) => {
      asked.push(wanted);
      return Math.min(Math.ceil(wanted / 20) * 20, room);
    },
    tooLarge: () => new Error('too large'),
    overQuota: () => new Error('over quota'),
    ...more,
  });
  const received: Buffer[] = [];
  const collect = async (counted: Readable) => {
    for await (const chunk of counted) received.push(chunk);
  };
  const streamOf = (sizes: readonly number[]) =>
    Readable.from(
      sizes.map((n) => Buffer.alloc(n, 'x')),
      { objectMode: false },
    );
  const pass = (sizes: readonly number[], sink = collect) => meter.pass(streamOf(sizes), sink, signal);
  return { meter, pass, asked, received: () => Buffer.concat(received).length };
}

t.test('hands on every byte and counts each file for itself', async (t) => {
  const { pass, received } = setup();
  t.equal(await pass([10, 20]), 30);
  t.equal(await pass([]), 0);
  t.equal(await pass([70]), 70);
  t.equal(received(), 100);
});

t.test('asks for room only when what is reserved is used up', async (t) => {
  const { pass, asked } = setup();
  await pass([10, 5, 5, 1]);
  await pass([19, 1]);
  t.strictSame(asked, [10, 21, 41]);
});

t.test('refuses what is larger than an upload may be, over all its files', async (t) => {
  const { pass, received } = setup();
  await pass([60]);
  await t.rejects(pass([40, 1]), { message: 'too large' });
  t.ok(received() <= 100);
});

t.test('refuses what the quota has no room for, before the sink gets it', async (t) => {
  const { pass, received } = setup(30);
  await t.rejects(pass([30, 1]), { message: 'over quota' });
  t.ok(received() <= 30);
});

t.test('a sink that fails gives its own error, also when it leaves its stream alone', async (t) => {
  const { pass } = setup();
  const destroying = async (counted: Readable) => {
    counted.destroy();
    throw new Error('store is away');
  };
  const leaving = async () => {
    throw new Error('store is away');
  };
  for (const sink of [destroying, leaving]) await t.rejects(pass([10, 10, 10], sink), { message: 'store is away' });
});

t.test('what streams say of the end of each other is never the reason, whoever failed first', async (t) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  // Leaving a loop destroys the stream, which then says that it was aborted.
  const looping = async (counted: Readable) => {
    for await (const _chunk of counted) throw full;
  };
  const waiting = async (counted: Readable) => {
    for await (const _chunk of counted) await new Promise(setImmediate).then(() => Promise.reject(full));
  };
  // The longer ones have not ended when the sink fails: so they are what says that it was aborted.
  for (const sink of [looping, waiting])
    for (const chunks of [1, 3, 50]) {
      const wide = new ByteMeter({
        maxBytes: 1e9,
        reserve: async () => 1e9,
        tooLarge: () => new Error('too large'),
        overQuota: () => new Error('over quota'),
      });
      const source = Readable.from(
        Array.from({ length: chunks }, () => Buffer.alloc(100_000)),
        { objectMode: false },
      );
      await t.rejects(wide.pass(source, sink, signal), full, `${chunks} chunks`);
    }
  const { meter } = setup();
  const cut = new Error('the body ended before its time');
  const source = new Readable({ read() {} });
  source.push('x');
  const reading = async (counted: Readable) => {
    for await (const _chunk of counted) source.destroy(cut);
  };
  await t.rejects(meter.pass(source, reading, signal), cut, 'of the source');
  const stop = new AbortController();
  const reason = new Error('shutdown');
  const aborting = async (counted: Readable) => {
    stop.abort(reason);
    for await (const _chunk of counted);
  };
  await t.rejects(meter.pass(new Readable({ read() {} }), aborting, stop.signal), reason, 'ours is the reason');
});

t.test('a sink that fails is heard of at once, though the source has not ended and may never', async (t) => {
  const meter = new ByteMeter({
    maxBytes: 100,
    reserve: async () => 100,
    tooLarge: () => new Error('too large'),
    overQuota: () => new Error('over quota'),
  });
  const source = new Readable({ read() {} });
  const leaving = async () => {
    throw new Error('store is away');
  };
  // A stream that waits for its source keeps no process alive.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  await t.rejects(meter.pass(source, leaving, signal), { message: 'store is away' });
  t.ok(source.destroyed);
});

t.test('room for more than an upload may have makes it no larger', async (t) => {
  const meter = new ByteMeter({
    maxBytes: 100,
    reserve: async () => 1_000,
    tooLarge: () => new Error('too large'),
    overQuota: () => new Error('over quota'),
  });
  const sink = async (counted: Readable) => {
    for await (const _chunk of counted);
  };
  const source = Readable.from([Buffer.alloc(60), Buffer.alloc(41)], { objectMode: false });
  await t.rejects(meter.pass(source, sink, signal), { message: 'too large' });
});

t.test('a source that fails gives its own error', async (t) => {
  const source = new Readable({ read() {} });
  const { meter } = setup();
  const sink = async (counted: Readable) => {
    for await (const _chunk of counted) source.destroy(new Error('body cut off'));
  };
  source.push(Buffer.alloc(1));
  await t.rejects(meter.pass(source, sink, signal), { message: 'body cut off' });
});

t.test('an abort ends the wait for a source that sends nothing', async (t) => {
  const { meter } = setup();
  const source = new Readable({ read() {} });
  const stop = new AbortController();
  const passed = meter.pass(source, async (counted) => void (await counted.toArray()), stop.signal);
  stop.abort();
  await t.rejects(passed, { name: 'AbortError' });
  t.ok(source.destroyed);
});

t.test('refuses an empty file where that is asked for, before the sink has it whole', async (t) => {
  const { meter } = setup(100, { empty: () => new Error('empty') });
  let whole = false;
  const sink = async (counted: Readable): Promise<void> => {
    for await (const _ of counted);
    whole = true;
  };
  await t.rejects(meter.pass(Readable.from([]), sink, signal), { message: 'empty' });
  t.notOk(whole);
  t.equal(await meter.pass(Readable.from([Buffer.from('x')], { objectMode: false }), sink, signal), 1);
  t.ok(whole);
});
