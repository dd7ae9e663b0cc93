import t from 'tap';
import { HttpDate } from '../../../../http/kernel/answers/http-date.ts';

t.test('the date is that of the second, whichever way the clock goes', (t) => {
  const date = new HttpDate();
  for (const now of [0, 999, 1000, 1999, 500, 1_795_349_100_123, 1_795_349_100_999, 1_795_349_101_000])
    t.equal(date.at(now), new Date(now).toUTCString());
  t.end();
});
