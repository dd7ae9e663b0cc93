// What `longshore up` writes for itself, with one more plugin, `remote`, that the test serves.

import { mkdir, writeFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { embeddedConfig } from '../../bin/compose/embedded-config.ts';
import { writeSampleLaunchers } from '../../config/samples/launchers.ts';
import { SAMPLE_NAMES, SAMPLES } from '../../config/samples/samples.ts';
import { runtimeArgv } from '../../engine/runtime/program-files.ts';

export async function configureWithRemote(path: string, portBase: number, pluginPort: number): Promise<void> {
  const dir = dataDir(path);
  await mkdir(path, { recursive: true });
  const launchers = await writeSampleLaunchers(dir.plugins, runtimeArgv(dir.compiled));
  const samples = SAMPLE_NAMES.map((name) => ({ ...SAMPLES[name], name, scripts: launchers[name] }));
  const document = parse(embeddedConfig(dir, portBase, samples)) as {
    readonly installer: { readonly plugins: Record<string, object> };
  };
  document.installer.plugins.remote = {
    server: { host: '127.0.0.1', port: pluginPort },
    dataTypes: [{ name: 'remote', version: '1.0', category: 'Remote' }],
  };
  await writeFile(dir.config, stringify(document), { mode: 0o600 });
}
