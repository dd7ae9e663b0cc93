// Another account of the machine looks for files of a private dataset that scripts installed with no thought of modes.

import { readdirSync, statSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { parse, stringify } from 'yaml';
import { geneList } from '../fixtures/datasets.ts';
import { Api, detailsOf } from '../support/api.ts';
import { freePortBase, longshore, tempDir, up } from '../support/longshore.ts';

interface Config {
  readonly installer: {
    readonly plugins: Readonly<Record<string, { readonly scripts: Record<string, { pathOverride: string }> }>>;
  };
}

/** Gives everything it installed to everybody. */
async function openUp(config: Config, dir: string): Promise<void> {
  for (const [name, plugin] of Object.entries(config.installer.plugins)) {
    const script = plugin.scripts.dataInstall;
    if (!script) continue;
    const wrapper = join(dir, `generous-${name}`);
    await writeFile(
      wrapper,
      `#!/bin/sh\numask 0\n'${decodeURI(script.pathOverride)}' "$@" && mkdir -p "$DATA_FILES/more" &&\n` +
        'echo x >"$DATA_FILES/more/x" && chmod -R 777 "$DATA_FILES"\n',
    );
    await chmod(wrapper, 0o755);
    script.pathOverride = encodeURI(wrapper);
  }
}

t.test('other accounts can read no file of a private dataset', async (t) => {
  const dir = await tempDir(t);
  const base = ['--port-base', String(await freePortBase())];
  await (await up(t, dir, base)).stop();
  const file = join(dir, 'config.yaml');
  const config = parse(await readFile(file, 'utf8')) as Config;
  await openUp(config, dir);
  await writeFile(file, stringify(config));
  const app = await up(t, dir, base);
  const token = await app.token('8');
  const { installer } = app.endpoints;
  const id = await new Api(installer, token).upload(detailsOf('genelist', { installTargets: ['AlphaDB'] }), [
    { name: 'genes.txt', content: geneList(5) },
  ]);
  t.equal((await longshore(['watch', id, '--server', installer, '--token', token])).stdout, 'installed\n');
  const installed = readdirSync(join(dir, 'sites'), { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => path.includes(id));
  t.ok(installed.some((path) => path.endsWith('/more/x')));
  for (const path of installed) t.equal(statSync(path).mode & 0o027, 0, path.slice(dir.length));
  // Whoever may pass through the folder of `up` finds nothing else that is open, either.
  for (const root of ['objects', 'scratch', 'query-jobs', 'sites'])
    t.equal(statSync(join(dir, root)).mode & 0o007, 0, root);
});
