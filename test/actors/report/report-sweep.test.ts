// What is removed of reports, and what is not.

import t from 'tap';
import { transient } from '../../../engine/runtime/failure.ts';
import { at, idOf, requestOf, rulesAt, signal } from '../../conformance/report-world.ts';
import { RETENTION_MS, reportWorld } from './report-world.ts';

const DAY = 86_400;
const DAYS = RETENTION_MS / 1000 / DAY;

t.test('a report expires when nobody has asked for it for as long as it is kept, and can be made again', async (t) => {
  const world = await reportWorld(t);
  await world.make();
  const read = (days: number) => world.jobs.read(idOf(1), undefined, at(days * DAY), signal);
  await world.clock.advance(20 * DAY * 1000);
  await read(20);
  await world.clock.advance((DAYS - 1) * DAY * 1000);
  t.strictSame(await world.sweep(), { expired: 0, cleaned: 0 });
  t.equal(world.store.keys().length, 2);
  await world.clock.advance(DAY * 1000);
  t.strictSame(await world.sweep(), { expired: 1, cleaned: 1 });
  t.strictSame(world.store.keys(), []);
  t.match(await world.job(), { ...requestOf(1), status: 'expired' });
  t.equal(await world.jobs.requeue(idOf(1), rulesAt((20 + DAYS) * DAY), signal), 'queued');
  const one = await world.claim();
  await world.settle(one, await world.first.run(one));
  t.match(await world.job(), { status: 'complete', attempt: 2 });
  t.strictSame(
    await world.sweep(),
    { expired: 0, cleaned: 1 },
    'looks once more for what the first attempt may have left',
  );
  t.equal(world.store.keys().length, 2);
});

t.test('what lies with a report and is no attempt of it goes with the first attempt', async (t) => {
  const world = await reportWorld(t);
  await world.make();
  const stray = ['copy-9/report.tsv', 'copy/9/report.tsv', '0/report.tsv', '9', '09/report.tsv'];
  for (const name of stray) await world.store.put(`reports/${idOf(1)}/${name}`, Buffer.from('x'), {}, signal);
  await world.store.put(`reports/${idOf(1)}/2/report.tsv`, Buffer.from('x'), {}, signal);
  await world.clock.advance(RETENTION_MS + 1);
  t.strictSame(await world.sweep(), { expired: 1, cleaned: 1 });
  t.strictSame(world.store.keys(), [`reports/${idOf(1)}/2/report.tsv`], 'a later attempt is left');
});

t.test('one job whose objects cannot be removed keeps no other, and its own are removed later', async (t) => {
  const world = await reportWorld(t);
  for (const n of [1, 2, 3]) await world.submit(n);
  for (const _ of [1, 2, 3]) {
    const one = await world.claim();
    await world.settle(one, await world.first.run(one));
  }
  await world.clock.advance(RETENTION_MS + 1);
  world.store.onCall = (method, key) => {
    if (method === 'remove' && key.includes(idOf(2))) throw transient('not now');
  };
  await t.rejects(world.sweep(), { kind: 'transient', message: 'not now' });
  t.strictSame(
    world.store.keys(),
    ['report.tsv', 'report.zip'].map((name) => `reports/${idOf(2)}/1/${name}`),
  );
  world.store.onCall = () => {};
  t.strictSame(await world.sweep(), { expired: 0, cleaned: 1 });
  t.strictSame(world.store.keys(), []);
});

t.test('more than one page of jobs and of files', async (t) => {
  const world = await reportWorld(t);
  for (let n = 1; n <= 250; n++) {
    await world.submit(n);
    const one = await world.claim();
    const files = n === 1 ? 205 : 1;
    for (let i = 0; i < files; i++)
      await world.store.put(`reports/${idOf(n)}/1/report_${i}.json`, Buffer.from('x'), {}, signal);
    await world.settle(one, { kind: 'complete', ended: at(0), files: [], stderr: '' });
  }
  await world.store.put(`reports/${idOf(1)}/report.json`, Buffer.from('of no attempt'), {}, signal);
  await world.store.put(`reports/${idOf(1)}/2/report.json`, Buffer.from('of another attempt'), {}, signal);
  await world.store.put(`reports/${idOf(1)}0/1/report.json`, Buffer.from('of another job'), {}, signal);
  await world.clock.advance(RETENTION_MS + 1);
  t.strictSame(await world.sweep(), { expired: 250, cleaned: 250 });
  t.strictSame(world.store.keys(), [`reports/${idOf(1)}/2/report.json`, `reports/${idOf(1)}0/1/report.json`]);
});
