import t from 'tap';
import { roomFirst } from '../../../actors/plugins/room-first.ts';
import type { TaskRunner } from '../../../actors/tasks/task-map.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import { aborted, rejected, transient } from '../../../engine/runtime/failure.ts';

const options = { signal: new AbortController().signal, alone: false, owner: '1' as UserId };
const LACK = 'the disk of the object store has 5 bytes free; writes stop below 10';
const waits = { kind: 'transient', unreachable: true, message: LACK };
/** The task may have done part of its work: an install is undone before it is tried again. */
const failed = { kind: 'transient', unreachable: false, message: LACK };

/** @param end of every task; `fills` = the disk is full by then */
function setup(end: object, { full = false, fills = false } = {}) {
  const ran: string[] = [];
  let lack = full ? LACK : undefined;
  const inner = {
    async run(name: string) {
      ran.push(name);
      if (fills) lack = LACK;
      if (end instanceof Error) throw end;
      return end;
    },
  } as unknown as TaskRunner;
  const tasks = roomFirst(inner, { lack: async () => lack });
  return { ran, run: (name: string) => tasks.run(name as 'import-dataset', {} as never, options) };
}

t.test('what writes waits for room without using up a try; what makes room goes on', async (t) => {
  const { ran, run } = setup({ kind: 'success' }, { full: true });
  for (const name of ['fetch-upload', 'pack-upload', 'import-dataset', 'install-data', 'install-meta', 'install-files'])
    await t.rejects(run(name), waits, name);
  t.strictSame(ran, []);
  await run('uninstall');
  await run('uninstall-files');
  t.strictSame(ran, ['uninstall', 'uninstall-files']);
});

t.test('what fails while a disk is full is not the fault of the data', async (t) => {
  const messages = { basic: ['no space left'], community: [] };
  for (const end of [
    { kind: 'invalid', validation: messages },
    { kind: 'script-error', message: 'exit 1' },
    { kind: 'server-error', message: 'ENOSPC' },
    rejected('the archive is cut off'),
    new Error('ENOSPC: no space left on device, write'),
  ])
    await t.rejects(setup(end, { fills: true }).run('import-dataset'), failed);
});

t.test('a plugin that was not reached has done nothing, disk full or not', async (t) => {
  const refused = transient('plugin refused', { unreachable: true });
  await t.rejects(setup(refused, { fills: true }).run('install-data'), { ...waits, cause: refused });
});

t.test('with room, every end stays what it is; so does success, and what we stopped ourselves', async (t) => {
  const invalid = { kind: 'invalid', validation: { basic: ['bad'], community: [] } };
  t.equal(await setup(invalid).run('import-dataset'), invalid);
  await t.rejects(setup(rejected('bad')).run('pack-upload'), { kind: 'rejected', message: 'bad' });
  const success = { kind: 'success' };
  t.equal(await setup(success, { fills: true }).run('import-dataset'), success);
  await t.rejects(setup(aborted('stopping'), { fills: true }).run('import-dataset'), {
    kind: 'aborted',
    message: 'stopping',
  });
});
