// How a simulation must end: told from what the clients did and what the plugin says, not from the code.

import { isDeepStrictEqual } from 'node:util';
import type { TargetId } from '../../engine/model/ids.ts';
import { parseMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, datasetPrefix, fileKey, objectKey } from '../../engine/model/object-key.ts';
import { controlView, recordView } from '../support/dataset-views.ts';
import type { Clients } from './clients.ts';
import type { DatasetPlan } from './plan.ts';
import type { Verdict } from './sim-plugin.ts';
import type { World } from './world.ts';

const never = new AbortController().signal;
const POISONED = 'its worker died 3 times while it ran alone: thread.import-dataset: its thread died';

/** One text per way in which the end is not what it must be. */
export async function judge(world: World, clients: Clients, plans: readonly DatasetPlan[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (isDeepStrictEqual(found, expected)) return;
    faults.push(`${what} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  };
  const there = plans.filter(({ dataset }) => world.catalog.datasets.has(dataset));
  for (const plan of plans) {
    if (there.includes(plan)) await judgeDataset(world, clients, plan, expect);
    else if (clients.accepted.has(plan.dataset)) faults.push(`${plan.dataset} was accepted and is lost`);
    else judgeAbsent(world, plan, expect);
  }
  const prefixes = plans.map(datasetPrefix);
  expect(
    'keys of nobody',
    world.store.keys().filter((key) => !prefixes.some((prefix) => key.startsWith(prefix))),
    [],
  );
  expect('leases', world.leases.held(), []);
  const poisoned = there.filter(isPoisoned).map(({ dataset }) => `import ${dataset} dead`);
  expect('jobs', world.jobs.rows.map((row) => `${row.lane} ${row.dataset} ${row.state}`).sort(), poisoned.sort());
  for (const owner of new Set(plans.map((plan) => plan.owner))) {
    const owned = there.filter((plan) => plan.owner === owner);
    const bytes = owned.flatMap(({ files }) => Object.values(files)).reduce((sum, text) => sum + text.length, 0);
    expect(`usage of ${owner}`, await world.uploads.usage(owner, never), bytes);
  }
  return faults;
}

/** A job that can never succeed, and is kept for an administrator. */
export const isPoisoned = ({ refusal, verdicts }: DatasetPlan): boolean =>
  refusal === undefined && verdicts.import.kind === 'poison';

type Expect = (what: string, found: unknown, expected: unknown) => void;

function judgeAbsent(world: World, { dataset, ...at }: DatasetPlan, expect: Expect): void {
  // Between the row and the objects of an upload that nobody was promised, a crash leaves objects for reconciliation.
  if (!world.givenUp.has(dataset)) expect(`${dataset}: keys`, keysOf(world, { ...at, dataset }), []);
  expect(`${dataset}: control rows`, world.schema.rows.has(dataset), false);
  expect(`${dataset}: installed`, installedOf(world, dataset), {});
}

async function judgeDataset(world: World, clients: Clients, plan: DatasetPlan, expect: Expect): Promise<void> {
  const { dataset } = plan;
  const known = world.catalog.datasets.get(dataset);
  if (!known) return;
  const text = world.store.text(objectKey(plan, 'vdi-meta.json')) ?? '{}';
  const metadata = parseMetadata(text, dataset);
  const possible = clients.possibleNames(plan);
  if (!possible.includes(metadata.name)) expect(`${dataset}: name`, metadata.name, possible);
  expect(`${dataset}: metadata in the cache`, known.metadata, metadata);
  const imported = plan.refusal === undefined && plan.verdicts.import.kind === 'success';
  const properties = propertiesOf(world, plan);
  expect(`${dataset}: keys`, keysOf(world, plan), expectedKeys(plan, imported, properties));
  expect(`${dataset}: record`, await recordOf(world, plan), expectedRecord(plan, imported));
  expect(`${dataset}: control`, await controlOf(world, plan), imported ? expectedControl(plan, metadata.name) : {});
  expect(`${dataset}: attempts`, await world.catalog.attempts(dataset, never), []);
  expect(`${dataset}: source`, await world.uploads.source(dataset, never), undefined);
  const installations = imported ? expectedInstallations(plan, metadata, properties) : {};
  const found = installedOf(world, dataset);
  expect(`${dataset}: installed on`, Object.keys(found).sort(), Object.keys(installations).sort());
  for (const [target, expected] of Object.entries(installations)) {
    // What lies there after metadata were refused is the plugin's business.
    const { content, ...rest } = found[target] ?? {};
    expect(`${dataset}: content on ${target}`, content, expected.content);
    if (expected.meta) expect(`${dataset}: metadata on ${target}`, rest, expected.meta);
  }
}

const keysOf = (world: World, at: DatasetAddress): readonly string[] =>
  world.store.keys().flatMap((key) => (key.startsWith(datasetPrefix(at)) ? [key.slice(datasetPrefix(at).length)] : []));

function installedOf(world: World, dataset: string): Record<string, object & { readonly content?: string }> {
  const entries = [...world.plugin.installed].filter(([place]) => place.endsWith(`/${dataset}`));
  return Object.fromEntries(entries.map(([place, installation]) => [place.split('/')[0], installation]));
}

const propertiesOf = (world: World, plan: DatasetPlan): readonly string[] =>
  ['p.tsv', 'q.tsv'].flatMap((name) => {
    const text = world.store.text(fileKey(plan, 'datasetProperties', name));
    return text === undefined ? [] : [`${name}=${text}`];
  });

function expectedKeys(plan: DatasetPlan, imported: boolean, properties: readonly string[]): readonly string[] {
  const objects = plan.refusal === undefined ? ['import-ready.zip', 'vdi-manifest.json'] : ['upload-error.json'];
  const files = properties.map((property) => `datasetProperties/${property.split('=')[0]}`);
  return ['vdi-meta.json', ...objects, ...(imported ? ['install-ready.zip'] : []), ...files].sort();
}

/** As recordView gives it, without the lists of what the user put beside the data. */
async function recordOf(world: World, { dataset }: DatasetPlan): Promise<object> {
  const known = world.catalog.datasets.get(dataset);
  if (!known) return {};
  const { upload, install } = known.files;
  return { ...(await recordView(known, world.store)), files: { upload, install } };
}

function expectedRecord(plan: DatasetPlan, imported: boolean): object {
  const files = Object.entries(plan.files).map(([name, text]) => ({ name, size: text.length }));
  const refused = plan.refusal !== undefined;
  return {
    state: 'live',
    upload: refused ? { status: 'rejected', message: plan.refusal } : { status: 'success', message: undefined },
    import: refused ? { status: 'queued', messages: [] } : importOf(plan.verdicts.import),
    installs: imported ? expectedInstalls(plan) : {},
    files: { upload: refused ? undefined : files, install: imported ? files : undefined },
    sync: { meta: 'current', data: imported ? 'current' : 'none' },
  };
}

function importOf(verdict: Verdict): object {
  switch (verdict.kind) {
    case 'success':
      return { status: 'complete', messages: verdict.warnings };
    case 'invalid':
      return { status: 'invalid', messages: verdict.messages };
    case 'script-error':
      return { status: 'failed', messages: [verdict.message] };
    default:
      return { status: 'failed', messages: [POISONED] };
  }
}

function expectedInstalls({ verdicts }: DatasetPlan): object {
  const entries = [...verdicts.data].flatMap(([target, data]) => {
    const meta = verdicts.meta.get(target);
    const rows: [string, readonly string[]][] = [[`${target} data`, wordsOf(data)]];
    if (data.kind === 'success' && meta) rows.push([`${target} meta`, wordsOf(meta)]);
    return rows;
  });
  return Object.fromEntries(entries);
}

/** Status and messages. */
function wordsOf(verdict: Verdict): readonly string[] {
  switch (verdict.kind) {
    case 'success':
      return ['complete', ...verdict.warnings];
    case 'invalid':
      return ['failed-validation', ...verdict.messages];
    case 'missing-dependency':
      return ['missing-dependency', ...verdict.messages];
    case 'script-error':
      return ['failed-installation', verdict.message];
    default:
      return ['nothing'];
  }
}

const asOneText = ([status, ...messages]: readonly string[]): readonly (string | undefined)[] =>
  messages.length > 0 ? [status, messages.join('\n')] : [status];

/** What is not installed there is not shown, under whatever name: an update does not wait for a target that is away. */
async function controlOf(world: World, plan: DatasetPlan): Promise<object> {
  const views = await controlView(world.schema, plan, world.store);
  const entries = Object.entries(views).map(([target, view]) => {
    const installed = plan.verdicts.data.get(target as TargetId)?.kind === 'success';
    return [target, installed ? view : { ...view, name: undefined }] as const;
  });
  return Object.fromEntries(entries);
}

function expectedControl({ verdicts }: DatasetPlan, name: string): object {
  const entries = [...verdicts.data].map(([target, data]) => {
    const meta = verdicts.meta.get(target);
    const due = data.kind === 'success' && meta ? meta : undefined;
    const row = {
      data: asOneText(wordsOf(data)),
      meta: due ? asOneText(wordsOf(due)) : ['queued'],
      shown: due?.kind === 'success',
      name: due ? name : undefined,
      sync: { data: 'current', meta: due ? 'current' : 'none' },
    };
    return [target, row] as const;
  });
  return Object.fromEntries(entries);
}

function expectedInstallations(
  { files, verdicts }: DatasetPlan,
  metadata: object,
  properties: readonly string[],
): Record<string, { readonly content: string; readonly meta: object | undefined }> {
  const installed = [...verdicts.data].filter(([, data]) => data.kind === 'success');
  return Object.fromEntries(
    installed.map(([target]) => {
      const meta = verdicts.meta.get(target)?.kind === 'success' ? { metadata, properties } : undefined;
      return [target, { content: JSON.stringify(files), meta }];
    }),
  );
}
