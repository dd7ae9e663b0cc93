import t from 'tap';
import { mirror } from '../../../actors/dataset/site-targets.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import type {
  Catalog,
  CatalogChange,
  DatasetRecord,
  InstallAttempt,
  InstallRecord,
} from '../../../engine/ports/catalog.ts';
import type { ControlState } from '../../../engine/ports/install-target.ts';
import type { ClaimedJob } from '../../../engine/ports/jobs.ts';
import { PLASMO, TOXO } from '../../support/dataset-samples.ts';

const signal = new AbortController().signal;
const job = { dataset: 'AbCdEfGhIjKlMnOp' as DatasetId, lease: {} } as ClaimedJob;
const toxo = { messages: { data: { status: 'complete', message: 'a\nb' }, meta: { status: 'complete' } } };

/** What is written when the cache knows these installs, and the control DB of ToxoSite what it has. */
async function written(
  installs: readonly InstallRecord[],
  over: readonly InstallAttempt[] = [],
): Promise<readonly (readonly CatalogChange[])[]> {
  const writes: (readonly CatalogChange[])[] = [];
  const catalog = {
    write: async (_dataset: unknown, _lease: unknown, changes: readonly CatalogChange[]) => void writes.push(changes),
  } as unknown as Catalog;
  const record = { installs } as unknown as DatasetRecord;
  await mirror(catalog, job, record, TOXO, toxo as unknown as ControlState, over, signal);
  return writes;
}

const install = (target: typeof TOXO, kind: 'data' | 'meta', status: 'complete' | 'queued'): InstallRecord =>
  ({ target, kind, status, messages: [] }) as unknown as InstallRecord;
const DATA = { set: 'install', target: TOXO, kind: 'data', status: 'complete', messages: ['a', 'b'] };

t.test('an install that the cache knows of another target, or of another kind, is written for this one', async (t) => {
  const [plasmo, meta] = [install(PLASMO, 'data', 'complete'), install(TOXO, 'meta', 'complete')];
  t.strictSame(await written([plasmo, meta]), [[DATA]]);
  t.strictSame(await written([meta, plasmo]), [[DATA]]);
  t.strictSame(await written([plasmo, install(TOXO, 'data', 'queued'), meta]), [[DATA]]);
});

t.test('nothing is written where both say the same', async (t) => {
  t.strictSame(await written([install(TOXO, 'data', 'complete'), install(TOXO, 'meta', 'complete')]), []);
});

t.test('attempts that are over are forgotten in the same write', async (t) => {
  const attempt = { target: TOXO, kind: 'meta', attempts: 1, notBefore: undefined, started: true } as const;
  const over = { set: 'attemptOver', target: TOXO, kind: 'meta' };
  const meta = install(TOXO, 'meta', 'complete');
  t.strictSame(await written([meta], [attempt]), [[over, DATA]]);
  t.strictSame(await written([install(TOXO, 'data', 'complete'), meta], [attempt]), [[over]]);
});
