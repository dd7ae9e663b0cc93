// With a listener for operators, whoever reaches the front ends reaches nothing that is theirs, whatever token they have.

import t from 'tap';
import { fetch } from 'undici';
import { freePort } from '../support/ports.ts';
import { servedVictim } from './support/victim.ts';

const port = await freePort();
const app = await servedVictim(t, { http: { adminListener: { port } } });
const headers = { 'admin-token': app.adminToken };
const statusOf = async (url: string): Promise<number> => {
  const { status, body } = await fetch(url, { headers });
  await body?.cancel();
  return status;
};
const PATHS = ['/admin/reports/jobs', '/metrics', '/health'];

t.test('the paths of operators are at the listener for operators alone', async (t) => {
  for (const path of PATHS) {
    t.equal(await statusOf(app.url + path), 404, path);
    t.equal(await statusOf(`http://127.0.0.1:${port}${path}`), 200, path);
  }
});

t.test('users are served by the front ends alone', async (t) => {
  t.equal(await statusOf(`${app.url}/ready`), 200);
  t.equal(await statusOf(`${app.url}/datasets`), 401, 'it asks for a user');
  t.equal(await statusOf(`http://127.0.0.1:${port}/datasets`), 404);
  await app.holds(t);
});
