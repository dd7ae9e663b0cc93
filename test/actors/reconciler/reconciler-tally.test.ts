import t from 'tap';
import { ReconcilerTally } from '../../../actors/reconciler/reconciler-tally.ts';
import { addressOf, indexedOf, storedOf } from '../../support/merged-datasets.ts';

const at = addressOf(1, 'd');
const [stored, indexed] = [storedOf(at), indexedOf(at)];
const none = new Map();

function tally(datasets: { readonly known?: number; readonly absent: number }) {
  const { known = 0, absent } = datasets;
  const made = new ReconcilerTally([]);
  for (let n = 0; n < known; n++) made.add({ ...at, stored, indexed, installed: none }, false);
  for (let n = 0; n < absent; n++) made.add({ ...at, stored: undefined, indexed, installed: none }, true);
  return made;
}

t.test('more than 2 % of what a database knows is too much to delete', async (t) => {
  t.equal(tally({ known: 980, absent: 20 }).brake(), undefined);
  t.equal(
    tally({ known: 980, absent: 21 }).brake(),
    'too many datasets are absent from the object store (cache: 21 of 1001)',
  );
});

t.test('a listing with nothing that a database knows is not trusted', async (t) => {
  t.equal(tally({ absent: 1 }).brake(), 'the listing of the object store is empty');
  const strange = tally({ absent: 1 });
  strange.add({ ...at, stored, indexed: undefined, installed: none }, false);
  t.equal(strange.brake(), 'none of the 1 datasets of the object store is known to any database');
  t.equal(tally({ known: 1, absent: 1 }).brake(), undefined);
});
