import t from 'tap';
import { ReconcilerTally } from '../../../actors/reconciler/reconciler-tally.ts';
import { addressOf, indexedOf, storedOf } from '../../support/merged-datasets.ts';

const at = addressOf(1, 'd');
const [stored, indexed] = [storedOf(at), indexedOf(at)];
const none = new Map();

function tally(datasets: { readonly inStep?: number; readonly known?: number; readonly absent: number }) {
  const { inStep = 0, known = 0, absent } = datasets;
  const made = new ReconcilerTally([]);
  made.addInStep(inStep);
  for (let n = 0; n < known; n++) made.add({ ...at, stored, indexed, installed: none }, false);
  for (let n = 0; n < absent; n++) made.add({ ...at, stored: undefined, indexed, installed: none }, true);
  return made;
}

t.test('datasets that were passed over count for the brake as those that were looked at', async (t) => {
  for (const [inStep, known] of [
    [980, 0],
    [0, 980],
    [490, 490],
  ] as const) {
    const share = `${inStep} in step, ${known} looked at`;
    t.equal(tally({ inStep, known, absent: 20 }).brake(), undefined, share);
    t.equal(
      tally({ inStep, known, absent: 21 }).brake(),
      'too many datasets are absent from the object store (cache: 21 of 1001)',
      share,
    );
  }
});

t.test('a listing with nothing that a database knows is not trusted', async (t) => {
  t.equal(tally({ absent: 1 }).brake(), 'the listing of the object store is empty');
  const strange = tally({ absent: 1 });
  strange.add({ ...at, stored, indexed: undefined, installed: none }, false);
  t.equal(strange.brake(), 'none of the 1 datasets of the object store is known to any database');
  t.equal(tally({ inStep: 1, absent: 1 }).brake(), undefined);
});
