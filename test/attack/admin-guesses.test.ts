// Somebody guesses the Admin-Token, as fast as the connection allows, at every service that takes it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { linesOf } from '../support/log-lines.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

const GUESSES = 60;

t.test('guesses of the Admin-Token are held off, over all services, and told in the log', async (t) => {
  const dir = join(await tempDir(t), 'data');
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const { installer, access, report, adminToken } = app.endpoints;
  const urls = [
    { method: 'GET', url: `${installer}/admin/reports/datasets/list-all` },
    { method: 'POST', url: `${access}/approve-eligible-access-requests` },
    { method: 'GET', url: `${report}/jobs/${'0'.repeat(32)}` },
  ];
  const guess = async (i: number) => {
    const { method, url } = urls[i % urls.length] ?? { method: 'GET', url: installer };
    const token = `${adminToken.slice(0, -2)}${String(i).padStart(2, '0')}`;
    if (token === adminToken) return { status: 0, retryAfter: null, token };
    const response = await fetch(url, { method, headers: { 'admin-token': token } });
    await response.body?.cancel();
    return { status: response.status, retryAfter: response.headers.get('retry-after'), token };
  };
  const answers = [];
  for (let i = 0; i < GUESSES; i++) answers.push(await guess(i));
  const heldOff = answers.filter(({ status }) => status === 429);
  t.ok(heldOff.length >= GUESSES / 2, `${heldOff.length} of ${GUESSES} guesses were not even looked at`);
  t.ok(
    heldOff.every(({ retryAfter }) => Number(retryAfter) > 0 && Number(retryAfter) <= 60),
    'with a time to wait',
  );
  const log = linesOf(dataDir(dir).log);
  const refused = log.filter(({ msg }) => msg === 'a wrong token was refused');
  t.ok(refused.length >= 10 && refused.length < GUESSES, `${refused.length} lines`);
  t.match(refused[0], { address: '127.0.0.1', method: 'GET', route: '/admin/reports/datasets/list-all' });
  t.equal(log.filter(({ msg }) => msg === 'token guesses are throttled').length, 1, 'said once');
  const text = await readFile(dataDir(dir).log, 'utf8');
  t.strictSame(
    answers.filter(({ token }) => text.includes(token)),
    [],
    'no guess is in the log',
  );
  const open = await fetch(`${installer}/service-meta`);
  t.equal(open.status, 200, 'nobody else is held off');
});
