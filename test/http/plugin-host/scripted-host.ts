// A plugin host that listens, with scripts that a test writes line by line; what it leaves behind can be counted.

import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Test } from 'tap';
import { Agent, FormData, fetch } from 'undici';
import type { HostedPlugin } from '../../../actors/plugin-host/hosted-plugins.ts';
import { stringifyJson } from '../../../engine/model/json.ts';
import { SCRIPT_RAN } from '../../../engine/ports/plugin-client.ts';
import { serveHost } from './host-server.ts';
import { details, metadataJson, putZip, TYPE } from './host-setup.ts';

export type ScriptName = keyof HostedPlugin['scripts'];
export type Call = 'import' | 'install/data' | 'install/meta' | 'uninstall';
/** What the shell runs in the place of a script, by script. */
export type ScriptTexts = Readonly<Partial<Record<ScriptName, string>>>;

export interface CallOptions {
  /** Data type, which is the plugin's name too. */
  readonly type?: string;
  readonly zip?: Buffer;
  readonly dependencies?: readonly object[];
}

export interface Answer {
  readonly status: number;
  /** As the caller is told. */
  readonly scriptRan: boolean;
  readonly body: Buffer;
  /** Parsed when it is JSON. */
  readonly json: unknown;
}

/** What a script does that a dataset has none for. */
const DEFAULTS: Readonly<Record<ScriptName, string>> = {
  dataCleaning: 'cp "$1"/a.txt "$2"/',
  checkCompatibility: 'exit 0',
  dataInstall: 'mkdir "$DATA_FILES" && cp -R "$2"/. "$DATA_FILES"/',
  metaUpdate: 'exit 0',
  uninstall: 'exit 0',
};
const SCRIPTS = Object.keys(DEFAULTS) as ScriptName[];

/** `plugins` are further ones beside `testtype`, by name: what is different about their scripts. */
export async function scriptedHost(
  t: Test,
  plugins: Readonly<Record<string, (script: HostedPlugin['scripts'][ScriptName]) => Partial<typeof script>>> = {},
) {
  const dir = t.testdir();
  await mkdir(dir, { recursive: true });
  const mark = `longshore-${randomUUID()}`;
  const scripts = Object.fromEntries(
    SCRIPTS.map((name) => [name, { path: join(dir, `${name}.sh`), maxDurationMs: 30_000 }]),
  ) as HostedPlugin['scripts'];
  for (const name of SCRIPTS) {
    const own = `${join(dir, name)}-$VDI_ID`;
    await writeFile(scripts[name].path, `#!/bin/sh\n[ -e "${own}" ] && . "${own}"\n${DEFAULTS[name]}\n`);
    await chmod(scripts[name].path, 0o755);
  }
  const served = await serveHost(t, {
    routes: { maxPayloadBytes: 100_000_000 },
    host: (options) => ({
      ...options,
      environment: { ...options.environment, HOSTNAME: mark },
      plugins: options.plugins.flatMap((plugin) => [
        { ...plugin, scripts },
        ...Object.entries(plugins).map(([name, change]) => ({
          ...plugin,
          name,
          dataTypes: plugin.dataTypes.map((type) => ({ ...type, name })),
          scripts: Object.fromEntries(
            Object.entries(scripts).map(([key, script]) => [key, { ...script, ...change(script) }]),
          ) as HostedPlugin['scripts'],
        })),
      ]),
    }),
  });
  // A connection per call, gone with its answer: descriptors are counted.
  const dispatcher = new Agent({ pipelining: 0 });
  t.teardown(() => dispatcher.destroy());
  const payload = join(dir, 'payload.zip');
  await putZip(payload, { 'a.txt': 'alpha', 'sub/b.txt': 'beta' });
  const usual = await readFile(payload);

  const formOf = (parts: Readonly<Record<string, string | Buffer>>): FormData => {
    const form = new FormData();
    for (const [name, value] of Object.entries(parts))
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new Blob([new Uint8Array(value)]), 'file.zip');
    return form;
  };
  /** Writes the dataset's scripts, then makes the call. */
  const call = async (
    path: Call,
    dataset: string,
    texts: ScriptTexts = {},
    options: CallOptions = {},
  ): Promise<Answer> => {
    for (const [name, text] of Object.entries(texts)) await writeFile(join(dir, `${name}-${dataset}`), text);
    const { type = TYPE.name, zip = usual, dependencies = [] } = options;
    const meta = { ...metadataJson(dataset), type: { ...TYPE, name: type }, dependencies };
    const target = { 'install-target': 'AlphaDB' };
    const parts = {
      import: () => ({ details: details(dataset, { meta }), payload: zip }),
      'install/data': () => ({
        details: details(dataset, target),
        meta: stringifyJson(meta),
        manifest: '{}',
        payload: zip,
      }),
      'install/meta': () => ({ details: details(dataset, { ...target, meta }) }),
    };
    const uninstall = path === 'uninstall';
    const response = await fetch(`${served.baseUrl}/${path}`, {
      method: 'POST',
      dispatcher,
      ...(uninstall ? { headers: { 'content-type': 'application/json' } } : {}),
      body: uninstall ? details(dataset, { ...target, type: { ...TYPE, name: type } }) : formOf(parts[path]()),
    });
    const body = Buffer.from(await response.arrayBuffer());
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const scriptRan = response.headers.has(SCRIPT_RAN);
    return { status: response.status, scriptRan, body, json: isJson ? JSON.parse(body.toString()) : undefined };
  };

  /** Waits until the host has let go of everything a call had, else the test runs into its time limit. */
  const settled = async (descriptors: number): Promise<void> => {
    while ((await readdir(served.workDir)).length > 0 || (await openDescriptors()).length > descriptors)
      await nextTurn();
  };
  return { ...served, dir, scripts, call, settled, processes: () => processesOf(`HOSTNAME=${mark}`) };
}

/** What this process has open. */
export async function openDescriptors(): Promise<readonly string[]> {
  const open: string[] = [];
  for (const fd of await readdir('/proc/self/fd')) open.push(await readlink(`/proc/self/fd/${fd}`).catch(() => ''));
  // The listing's own is gone again.
  return open.filter((target) => target !== '');
}

export interface FoundProcess {
  readonly pid: number;
  readonly group: number;
}

/** Processes with the entry in their environment, wherever they went, and children of this one, the unburied included. */
async function processesOf(entry: string): Promise<readonly FoundProcess[]> {
  const found: FoundProcess[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => '');
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    if (Number(parent) === process.pid || environment.split('\0').includes(entry))
      found.push({ pid: Number(name), group: Number(group) });
  }
  return found;
}
