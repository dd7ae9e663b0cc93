import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { BusyPoll } from '../../../engine/threads/busy-poll.ts';

/** As long as the machine lets it: what takes a moment may take two at any time. */
async function exchangedClosely(poll: BusyPoll): Promise<void> {
  do {
    poll.sent(1);
    poll.received();
  } while (!poll.isBusy);
}

t.test('it is busy once an answer came at once, and no longer when nothing has crossed for a moment', async (t) => {
  const poll = new BusyPoll();
  t.notOk(poll.isBusy);
  await exchangedClosely(poll);
  poll.sent(1);
  while (poll.isBusy) await turn();
  poll.received();
  t.notOk(poll.isBusy, 'an answer that was late ends it');
});

t.test('after many were sent at once nobody waits awake', async (t) => {
  const poll = new BusyPoll();
  await exchangedClosely(poll);
  poll.sent(17);
  poll.received();
  t.notOk(poll.isBusy);
});

t.test('the event loop turns while an answer is awaited, and stops by itself', async (t) => {
  const immediates = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Immediate').length;
  const poll = new BusyPoll();
  const before = immediates();
  let turned = 0;
  while (turned === 0) {
    await exchangedClosely(poll);
    poll.sent(1);
    turned = immediates() - before;
  }
  t.equal(turned, 1);
  while (immediates() > before) await turn();
  t.notOk(poll.isBusy);
});
