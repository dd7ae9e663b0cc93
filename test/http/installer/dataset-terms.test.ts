import t from 'tap';
import { targetId } from '../../../engine/model/ids.ts';
import { INSTALL_KINDS, INSTALL_STATUSES, type InstallStatus } from '../../../engine/model/status.ts';
import { statusBlock } from '../../../http/installer/dataset-terms.ts';

const SITE = targetId('PlainSite');
const IMPORTED = {
  upload: { status: 'success', message: undefined },
  import: { status: 'complete', messages: [] },
} as const;

/** What is shown of the install on one site; undefined stands for a kind that the mirror does not know. */
function install(versionNamed: boolean, meta: InstallStatus | undefined, data: InstallStatus | undefined) {
  const states = { meta, data };
  const records = INSTALL_KINDS.flatMap((kind) => {
    const status = states[kind];
    return status === undefined ? [] : [{ target: SITE, kind, status, messages: [`${kind} says`] }];
  });
  return statusBlock(IMPORTED, [SITE], records, versionNamed).install;
}

const says = (kind: string, status: InstallStatus) => ({ status, messages: [`${kind} says`] });
const BEGUN = INSTALL_STATUSES.filter((status) => status !== 'queued');

t.test('who names a version gets every entry, queued or not', async (t) => {
  t.strictSame(install(true, undefined, undefined), [
    { installTarget: SITE, meta: { status: 'queued' }, data: { status: 'queued' } },
  ]);
  for (const meta of INSTALL_STATUSES)
    for (const data of INSTALL_STATUSES)
      t.strictSame(install(true, meta, data), [
        { installTarget: SITE, meta: says('meta', meta), data: says('data', data) },
      ]);
});

t.test('who names none gets an entry once something of it has begun', async (t) => {
  for (const queued of [undefined, 'queued'] as const) {
    t.strictSame(install(false, queued, queued), []);
    for (const status of BEGUN) {
      t.strictSame(install(false, status, queued), [{ installTarget: SITE, meta: says('meta', status) }]);
      const meta = { status: status === 'complete' ? 'running' : status };
      t.strictSame(install(false, queued, status), [{ installTarget: SITE, meta, data: says('data', status) }]);
    }
  }
  for (const meta of BEGUN)
    for (const data of BEGUN) t.strictSame(install(false, meta, data), install(true, meta, data));
});

t.test('nobody gets an entry before the import is complete', async (t) => {
  for (const status of [undefined, 'queued', 'in-progress', 'invalid', 'failed'] as const) {
    const dataset = { ...IMPORTED, import: status && { status, messages: [] } };
    const records = [{ target: SITE, kind: 'data', status: 'running', messages: [] }] as const;
    for (const named of [true, false]) t.strictSame(statusBlock(dataset, [SITE], records, named).install, []);
  }
});
