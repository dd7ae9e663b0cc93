import t from 'tap';
import { SAMPLES } from '../../../config/samples/samples.ts';

t.test('no sample takes files that describe properties: none of them reads such files', async (t) => {
  t.same(
    Object.entries(SAMPLES).filter(([, { usesDataProperties }]) => usesDataProperties),
    [],
  );
  t.ok(Object.keys(SAMPLES).length >= 5);
});
