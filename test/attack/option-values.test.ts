// A user of the handler service names a dataset, and gives parameters, that tar takes for options: some of them run programs.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { fetch } from 'undici';
import { parse, stringify } from 'yaml';
import { zipOf } from '../fixtures/archives.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';

t.test('a job whose values are options of tar is refused, and runs nothing', async (t) => {
  const dir = await tempDir(t);
  const base = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, base)).stop();
  const file = join(dir, 'config.yaml');
  const document = parse(await readFile(file, 'utf8')) as { handler: object };
  const values = ['<<handler-params.member>>', '<<ds-name>>', '<<input-files>>'];
  const commands = [{ command: 'tar', arguments: ['-cf', '<<cwd>>/all.tar', ...values] }];
  await writeFile(file, stringify({ ...document, handler: { ...document.handler, commands } }));
  const { endpoints } = await up(t, dir, base);
  const job = `${endpoints.handler}/job/of-an-attacker`;
  const ran = join(dir, 'ran');
  const name = `--checkpoint-action=exec=touch ${ran}`;
  const registered = await fetch(job, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ projects: ['AlphaDB'], owner: 42, name, handlerParams: { member: '--checkpoint=1' } }),
  });
  const answer = await registered.text();
  await fetch(job, {
    method: 'POST',
    headers: { 'content-type': 'application/binary' },
    body: await zipOf({ 'genes.txt': 'one\ntwo\n' }),
  });
  t.notOk(existsSync(ran), 'no code of the attacker ran');
  t.equal(registered.status, 422);
  t.match(JSON.parse(answer), {
    status: 'invalid-input',
    errors: {
      byKey: {
        name: `'name' is '${name.slice(0, 60)}`,
        'handlerParams.member': "'handlerParams.member' is '--checkpoint=1': it begins an argument of a command",
      },
    },
  });
});
