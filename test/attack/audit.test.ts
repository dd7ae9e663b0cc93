// What is left of an attack in the audit trail of the running program: who tried what, no secret, and nothing that the program's
// own role could take back.

import pg from 'pg';
import t from 'tap';
import { fetch } from 'undici';
import { longshore } from '../support/longshore.ts';
import { servedVictim } from './support/victim.ts';

interface Line {
  readonly kind: string;
  readonly actor: { readonly kind: string; readonly id?: string };
  readonly method: string;
  readonly route: string;
  readonly dataset?: string;
  readonly outcome: string;
  readonly count: number;
}

const GUESSES = 300;

t.test(
  'guesses, downloads, changes and reads of administrators are in the trail, without a secret, for good',
  async (t) => {
    const { url, adminToken, db, token } = await servedVictim(t, {});
    const [user, guest] = [await token('951'), await token('77', '--guest')];
    const guessed = 'g'.repeat(40);
    const ask = async (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> => {
      const response = await fetch(url + path, { method, headers });
      await response.arrayBuffer();
      return response.status;
    };
    const admin = { 'admin-token': adminToken };
    t.equal(await ask('GET', '/admin/reports/jobs', admin), 200);
    t.equal(await ask('POST', '/admin/rpc/log/level?level=info', admin), 200);
    t.equal(await ask('GET', `/datasets/0VbfWYbontYX1Se4/files/upload?access_token=${user}`, {}), 404);
    t.equal(await ask('DELETE', '/datasets/0VbfWYbontYX1Se4', { authorization: `Bearer ${guest}` }), 403);
    for (let i = 0; i < GUESSES; i++)
      await ask('DELETE', `/datasets/guess${i}`, { authorization: `Bearer ${guessed}${i}` });
    t.equal(await ask('GET', '/admin/reports/jobs', { 'admin-token': guessed }), 403);

    const client = new pg.Client({ ...db });
    await client.connect();
    t.teardown(() => client.end());
    // Refusals are there within a second.
    const isThere = `select from installer.audit where outcome = 'refused' and route = '/admin/reports/jobs'`;
    while ((await client.query(isThere)).rowCount === 0) await client.query('select pg_sleep(0.1)');

    const { code, stdout } = await longshore(['audit', 'export', '--server', url, '--admin-token', adminToken]);
    t.equal(code, 0);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    const said = lines.map(({ kind, actor, method, route, dataset, outcome }) =>
      [kind, actor.kind, actor.id, method, route, dataset, outcome].filter((part) => part !== undefined).join(' '),
    );
    for (const expected of [
      'admin-read machine Admin-Token GET /admin/reports/jobs done',
      'change machine Admin-Token POST /admin/rpc/log/level done',
      'download user 951 GET /datasets/:id/files/upload 0VbfWYbontYX1Se4 rejected',
      'refusal guest 77 DELETE /datasets/:id 0VbfWYbontYX1Se4 refused',
      'refusal anonymous GET /admin/reports/jobs refused',
    ])
      t.equal(said.filter((line) => line === expected).length, 1, expected);
    const guesses = lines.filter(({ route, actor }) => route === '/datasets/:id' && actor.kind === 'anonymous');
    t.ok(guesses.length >= 1 && guesses.length < 5, `${guesses.length} rows of ${GUESSES} guesses`);
    const kept = JSON.stringify((await client.query('select * from installer.audit')).rows);
    for (const secret of [adminToken, guessed, user, guest, 'access_token'])
      t.notOk(stdout.includes(secret) || kept.includes(secret), `no ${secret.slice(0, 12)}`);
    for (const statement of [
      'delete from installer.audit',
      `update installer.audit set actor = 'x'`,
      'truncate installer.audit',
    ])
      await t.rejects(client.query(statement), { code: '42501' }, statement);
  },
);
