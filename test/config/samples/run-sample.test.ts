import t from 'tap';
import { scriptOf } from '../../../config/samples/run-sample.ts';

t.test('words that name no script are refused with what is allowed', async (t) => {
  t.match(scriptOf([]), /^sample '' must be one of .*genelist/);
  t.match(scriptOf(['genelist']), /^script '' must be one of .*import/);
  t.match(scriptOf(['genelist', 'import', 'only-one']), /^import needs \d arguments \(.*\), not 1$/);
});
