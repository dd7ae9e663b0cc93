// How a simulation must end: told from what the clients did and what the plugin says, not from the code.

import { isDeepStrictEqual } from 'node:util';
import type { TargetId, UserId } from '../../engine/model/ids.ts';
import { parseMetadata, serialiseShare } from '../../engine/model/metadata.ts';
import {
  type DatasetAddress,
  datasetPrefix,
  fileKey,
  objectKey,
  type ShareObject,
  shareKey,
} from '../../engine/model/object-key.ts';
import { controlView, recordView } from '../support/dataset-views.ts';
import { digestedFile } from '../support/digested-files.ts';
import type { Clients } from './clients.ts';
import { type DatasetPlan, RECIPIENTS, replaces } from './plan.ts';
import type { Verdict } from './sim-plugin.ts';
import type { World } from './world.ts';

const never = new AbortController().signal;
const POISONED = 'an internal error; an administrator can see why';

/** One text per way in which the end is not what it must be. */
export async function judge(world: World, clients: Clients, plans: readonly DatasetPlan[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (isDeepStrictEqual(found, expected)) return;
    faults.push(`${what} is ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  };
  const there = plans.filter(({ dataset }) => world.catalog.datasets.has(dataset));
  for (const plan of plans) {
    const replaced = there.some((other) => other.revises === plan.dataset && replaces(other));
    if (replaced && there.includes(plan)) judgeReplaced(world, plan, expect);
    else if (there.includes(plan)) await judgeDataset(world, clients, plan, expect);
    else if (clients.possiblyDeleted(plan).includes(true)) judgeAbsent(world, plan, expect);
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
  const poisoned = there.filter((plan) => isPoisoned(plan)).map(({ dataset }) => `import ${dataset} dead`);
  expect('jobs', world.jobs.rows.map((row) => `${row.lane} ${row.dataset} ${row.state}`).sort(), poisoned.sort());
  // What is kept is counted by the store that stands before the real one; of the uploads themselves nothing is left.
  for (const owner of new Set(plans.map((plan) => plan.owner)))
    expect(`reserved for ${owner}`, await world.uploads.usage(owner, never), 0);
  return faults;
}

/** A job that can never succeed, and is kept for an administrator. */
export const isPoisoned = ({ refusal, verdicts }: DatasetPlan): boolean =>
  refusal === undefined && verdicts.import.kind === 'poison';

type Expect = (what: string, found: unknown, expected: unknown) => void;

function judgeAbsent(world: World, { dataset, ...at }: DatasetPlan, expect: Expect): void {
  expect(`${dataset}: keys`, keysOf(world, { ...at, dataset }), []);
  expect(`${dataset}: control rows`, world.schema.rows.has(dataset), false);
  expect(`${dataset}: installed`, installedOf(world, dataset), {});
  expect(`${dataset}: left by failed installs`, leftOf(world, dataset), []);
  expect(`${dataset}: rows`, rowsOf(world, dataset), []);
}

async function judgeDataset(world: World, clients: Clients, plan: DatasetPlan, expect: Expect): Promise<void> {
  const { dataset } = plan;
  const known = world.catalog.datasets.get(dataset);
  if (!known) return;
  const text = world.store.text(objectKey(plan, 'vdi-meta.json')) ?? '{}';
  const metadata = parseMetadata(text, dataset);
  const possible = clients.possibleNames(plan);
  if (!possible.includes(metadata.name)) expect(`${dataset}: name`, metadata.name, possible);
  const deleted = isFlagged(world, plan);
  const wished = clients.possiblyDeleted(plan);
  if (!wished.includes(deleted)) expect(`${dataset}: deleted`, deleted, wished);
  expect(`${dataset}: attempts`, await world.catalog.attempts(dataset, never), []);
  if (deleted) return judgeDeleted(world, plan, expect);
  expect(`${dataset}: metadata in the cache`, known.metadata, metadata);
  const imported = plan.refusal === undefined && plan.verdicts.import.kind === 'success';
  const properties = propertiesOf(world, plan);
  expect(`${dataset}: keys`, keysOf(world, plan), expectedKeys(world, plan, imported, properties));
  expect(`${dataset}: record`, await recordOf(world, plan), expectedRecord(plan, imported));
  expect(`${dataset}: control`, await controlOf(world, plan), imported ? expectedControl(plan, metadata.name) : {});
  expect(`${dataset}: source`, await world.uploads.source(dataset, never), undefined);
  judgeShares(world, plan, imported, expect);
  const installations = imported ? expectedInstallations(plan, metadata, properties) : {};
  const found = installedOf(world, dataset);
  expect(`${dataset}: installed on`, Object.keys(found).sort(), Object.keys(installations).sort());
  const schemas = new Set(Object.keys(found).map((target) => world.targets.get(target as TargetId)?.dataSchema));
  const rows = rowsOf(world, dataset);
  // Where every install failed, what they left may be there.
  expect(
    `${dataset}: rows`,
    [...schemas].filter((schema) => !rows.includes(`${schema}`)),
    [],
  );
  const half = leftOf(world, dataset).filter((target) => target in found);
  expect(`${dataset}: installed over what failed installs left`, half, []);
  for (const [target, expected] of Object.entries(installations)) {
    // What lies there after metadata were refused is the plugin's business.
    const { content, ...rest } = found[target] ?? {};
    expect(`${dataset}: content on ${target}`, content, expected.content);
    if (expected.meta) expect(`${dataset}: metadata on ${target}`, rest, expected.meta);
  }
}

const isFlagged = (world: World, at: DatasetAddress): boolean =>
  world.store.keys().includes(objectKey(at, 'delete-flag'));

/** Its history stays, and nothing on the targets. */
function judgeReplaced(world: World, plan: DatasetPlan, expect: Expect): void {
  const { dataset } = plan;
  expect(`${dataset}: state`, world.catalog.datasets.get(dataset)?.state, 'superseded');
  expect(`${dataset}: revised-flag`, keysOf(world, plan).includes('revised-flag'), true);
  expect(`${dataset}: history`, keysOf(world, plan).includes('vdi-meta.json'), true);
  judgeUninstalled(world, plan, expect);
}

/** How far it came before it was deleted is nobody's business, as long as nothing is left of it on the targets. */
function judgeDeleted(world: World, plan: DatasetPlan, expect: Expect): void {
  const { dataset } = plan;
  const state = world.catalog.datasets.get(dataset)?.state;
  // The pruner had no occasion yet to hand it over again.
  if (state !== 'pruning') expect(`${dataset}: state`, state, 'deleted');
  judgeUninstalled(world, plan, expect);
}

function judgeUninstalled(world: World, { dataset }: DatasetPlan, expect: Expect): void {
  expect(`${dataset}: installed`, installedOf(world, dataset), {});
  expect(`${dataset}: left by failed installs`, leftOf(world, dataset), []);
  expect(`${dataset}: rows in the data schema`, rowsOf(world, dataset), []);
  const rows = [...(world.schema.rows.get(dataset)?.targets ?? [])];
  const shown = rows.filter(([, { state }]) => state.deletedStatus !== 1).map(([target]) => target);
  expect(`${dataset}: not uninstalled from`, shown, []);
}

/** Recipients whose offer stands and who accepted it, as the store says. */
function recipientsOf(world: World, plan: DatasetPlan): readonly UserId[] {
  const says = (recipient: UserId, document: ShareObject, action: string): boolean =>
    world.store.text(shareKey(plan, recipient, document)) === serialiseShare(action as 'grant' | 'accept');
  return RECIPIENTS.filter(
    (recipient) => says(recipient, 'share-offer.json', 'grant') && says(recipient, 'share-receipt.json', 'accept'),
  );
}

function judgeShares(world: World, plan: DatasetPlan, imported: boolean, expect: Expect): void {
  const recipients = recipientsOf(world, plan);
  const words = world.catalog.datasets.get(plan.dataset)?.shares ?? [];
  const cached = words.flatMap(({ recipient, offer, receipt }) =>
    offer === 'grant' && receipt === 'accept' ? [recipient] : [],
  );
  expect(`${plan.dataset}: recipients in the cache`, cached, recipients);
  for (const [id, data] of plan.verdicts.data) {
    const installed = imported && data.kind === 'success' && plan.verdicts.meta.get(id)?.kind === 'success';
    const seen = installed ? [...recipients, plan.owner].sort() : [];
    expect(`${plan.dataset}: seen on ${id} by`, world.visibleTo(id, plan.dataset), seen);
  }
}

const keysOf = (world: World, at: DatasetAddress): readonly string[] =>
  world.store.keys().flatMap((key) => (key.startsWith(datasetPrefix(at)) ? [key.slice(datasetPrefix(at).length)] : []));

function installedOf(world: World, dataset: string): Record<string, object & { readonly content?: string }> {
  const entries = [...world.plugin.installed].filter(([place]) => place.endsWith(`/${dataset}`));
  return Object.fromEntries(entries.map(([place, installation]) => [place.split('/')[0], installation]));
}

/** Targets on which a failed install left something. */
const leftOf = (world: World, dataset: string): readonly string[] =>
  [...world.plugin.left].flatMap((place) => (place.endsWith(`/${dataset}`) ? [place.split('/')[0] ?? ''] : []));

/** Data schemas that hold rows of it. */
const rowsOf = (world: World, dataset: string): readonly string[] =>
  [...world.plugin.rows].flatMap((place) => (place.endsWith(`/${dataset}`) ? [place.split('/')[0] ?? ''] : []));

const propertiesOf = (world: World, plan: DatasetPlan): readonly string[] =>
  ['p.tsv', 'q.tsv'].flatMap((name) => {
    const text = world.store.text(fileKey(plan, 'datasetProperties', name));
    return text === undefined ? [] : [`${name}=${text}`];
  });

function expectedKeys(
  world: World,
  plan: DatasetPlan,
  imported: boolean,
  properties: readonly string[],
): readonly string[] {
  const objects = plan.refusal === undefined ? ['import-ready.zip', 'vdi-manifest.json'] : ['upload-error.json'];
  const files = properties.map((property) => `datasetProperties/${property.split('=')[0]}`);
  const shares = keysOf(world, plan).filter((key) => key.startsWith('shares/'));
  return ['vdi-meta.json', ...objects, ...(imported ? ['install-ready.zip'] : []), ...files, ...shares].sort();
}

/** As recordView gives it, without the lists of what the user put beside the data. */
async function recordOf(world: World, { dataset }: DatasetPlan): Promise<object> {
  const known = world.catalog.datasets.get(dataset);
  if (!known) return {};
  const { upload, install } = known.files;
  const { shares: _shares, ...view } = withoutShares((await recordView(known, world.store)) as View);
  return { ...view, files: { upload, install } };
}

function expectedRecord(plan: DatasetPlan, imported: boolean): object {
  const files = Object.entries(plan.files).map(([name, text]) => digestedFile(name, text));
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
  const entries = Object.entries(views).map(([target, whole]) => {
    const { visibleTo: _recipients, ...view } = withoutShares(whole as View);
    const installed = plan.verdicts.data.get(target as TargetId)?.kind === 'success';
    const state = world.schema.rows.get(plan.dataset)?.targets.get(target as TargetId)?.state;
    return [target, { ...view, ...(installed ? {} : { name: undefined }), deleted: state?.deletedStatus }] as const;
  });
  return Object.fromEntries(entries);
}

type View = Readonly<Record<string, unknown>> & { readonly sync: Readonly<Record<string, unknown>> };

/** Shares are judged by who sees the dataset. */
function withoutShares({ sync: { shares: _version, ...sync }, ...view }: View): View {
  return { ...view, sync };
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
      deleted: 0,
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
