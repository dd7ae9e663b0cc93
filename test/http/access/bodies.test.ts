import t from 'tap';
import { parseDate } from '../../../http/access/bodies.ts';

const told = (text: string): string | undefined => parseDate(text)?.toISOString();

t.test('a date is its midnight; without an offset a time is in UTC', async (t) => {
  t.equal(told('2026-05-01'), '2026-05-01T00:00:00.000Z');
  t.equal(told('2026-05-01T10:20'), '2026-05-01T10:20:00.000Z');
  t.equal(told('2026-05-01T10:20:30.5'), '2026-05-01T10:20:30.500Z');
  t.equal(told('2026-05-01T10:20:30Z'), '2026-05-01T10:20:30.000Z');
  t.equal(told('2026-05-01T01:20:30+02:00'), '2026-04-30T23:20:30.000Z');
});

t.test('only days that there are, of every year from 1', async (t) => {
  for (const day of ['0001-01-01', '0096-02-29', '0104-02-29', '1999-12-31', '2028-02-29', '9999-12-31'])
    t.equal(told(day), `${day}T00:00:00.000Z`);
  for (const none of [
    ...['0000-12-31', '0099-02-29', '0100-02-29', '2026-02-29', '2026-02-30', '2026-04-31'],
    ...['2026-00-10', '2026-13-10', '2026-10-00', '2026-05-01T24:01', '2026-05-01T10:60', '26-05-01', ''],
    ...['2026-05-01T10:20:30+0200', ' 2026-05-01', '2026-05-01 10:20', '10000-01-01', 'tomorrow'],
  ])
    t.equal(told(none), undefined, none);
});
