// Writes of a job's record that were made although their answer was lost.

import t from 'tap';
import type { HandlerState } from '../../../engine/model/handler-job.ts';
import { defect, transient } from '../../../engine/runtime/failure.ts';
import { zipOf } from '../../fixtures/archives.ts';
import { bytesOf, handlerApp, untar } from './handler-app.ts';

/** Loses the answer of the first move to each of the states. */
function losing(...states: readonly HandlerState[]): (to: HandlerState) => void {
  const left = new Set(states);
  return (to) => {
    if (left.delete(to)) throw transient(`the connection was lost after ${to}`);
  };
}

t.test('an upload whose beginning is not known to be written leaves a job that waits', async (t) => {
  const app = await handlerApp(t, { onMoved: losing('uploading') });
  const archive = await zipOf({ 'a.txt': 'a' });
  const response = await app.job('x', archive);
  t.equal(response.status, 503);
  t.match(await app.status('x'), { status: 'awaiting upload', message: 'the connection was lost after uploading' });
  t.equal(app.lane.taken, 0);
  t.equal((await app.post('x', archive)).status, 200);
});

t.test('a step that was written is a step, whether or not its answer came', async (t) => {
  const app = await handlerApp(t, { onMoved: losing('unpacking', 'processing', 'completed') });
  const response = await app.job('x', await zipOf({ 'a.txt': 'a' }));
  t.equal(response.status, 200);
  t.equal((await untar(await bytesOf(response)))['datafiles/a.txt'], 'a');
  t.match(await app.status('x'), { status: 'job completed' });
  t.equal(app.store.keys().length, 1);
});

t.test('a refusal and a failure are written, too', async (t) => {
  const refusing = await handlerApp(t, { onMoved: losing('awaiting') });
  t.equal((await refusing.job('x', Buffer.from('no archive'))).status, 400);
  t.match(await refusing.status('x'), { status: 'awaiting upload' });
  const failing = await handlerApp(t, { onMoved: losing('failed'), commands: [] });
  t.equal((await failing.job('x', await zipOf({ 'a.txt': 'a' }))).status, 500);
  t.match(await failing.status('x'), { status: 'job failed' });
});

t.test('a record that cannot be written answers 500 and gives the place back', async (t) => {
  const broken = (to: HandlerState): void => {
    if (to === 'failed') throw defect('a bug in a statement');
  };
  const app = await handlerApp(t, { onMoved: broken, commands: [] });
  const response = await app.job('x', await zipOf({ 'a.txt': 'a' }));
  t.equal(response.status, 500);
  t.match(await response.json(), { message: 'internal error' });
  t.equal(app.lane.taken, 0);
  t.strictSame(await app.folders(), []);
});

t.test('a job that another process took for dead is not answered as if it had completed', async (t) => {
  const app = await handlerApp(t, {
    onMoved: (to) => {
      // Between two steps, somebody who sees no sign of life of this process.
      if (to === 'processing') for (const row of app.table.rows.values()) row.holder = 2;
    },
  });
  const response = await app.job('x', await zipOf({ 'a.txt': 'a' }));
  t.equal(response.status, 500);
  t.match(await response.json(), { message: /is no longer this process's: another one took it for dead$/ });
  t.strictSame(await app.folders(), []);
});
