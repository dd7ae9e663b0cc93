// What clients do under a seed, and what the plugin is going to say: everything that decides how a dataset ends.

import { type DatasetId, revisionOf, type UserId } from '../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../engine/model/object-key.ts';
import { metadataOf, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { SeededRandom } from './random.ts';
import type { Verdict, Verdicts } from './sim-plugin.ts';

/** What people do with a dataset that was accepted. */
export type Edit = { readonly atMs: number } & (
  | { readonly kind: 'patch'; readonly name: string }
  | { readonly kind: 'offer'; readonly recipient: UserId; readonly action: 'grant' | 'revoke' }
  | { readonly kind: 'receipt'; readonly recipient: UserId; readonly action: 'accept' | 'reject' }
  | { readonly kind: 'delete' | 'undelete' }
  | { readonly kind: 'property'; readonly name: string; readonly content: string | undefined }
);

export interface DatasetPlan extends DatasetAddress {
  /** Since the beginning. */
  readonly atMs: number;
  readonly metadata: DatasetMetadata;
  readonly files: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, string>>;
  /** The front end packs it. If the upload lane refuses it, that is left to the lane. */
  readonly isPacked: boolean;
  /** Why the upload lane refuses it. */
  readonly refusal: string | undefined;
  /** The dataset whose place it takes once it is installed everywhere. */
  readonly revises?: DatasetId;
  readonly verdicts: Verdicts;
  readonly edits: readonly Edit[];
}

export interface Plan {
  readonly datasets: readonly DatasetPlan[];
  /** When each process starts for the first time. */
  readonly processesAtMs: readonly number[];
  readonly stormMs: number;
}

const OWNERS = ['1001', '9007199254740995'] as const;
export const RECIPIENTS = ['2001', '2002'] as readonly string[] as readonly UserId[];

/** Whether the two targets of a seed have one data schema, as many sites do. */
export const sharesData = (seed: number): boolean => new SeededRandom(seed, 'sites').chance(0.4);

export function planOf(seed: number): Plan {
  const random = new SeededRandom(seed, 'plan');
  const packing = new SeededRandom(seed, 'packing');
  const processes = random.pick([1, 2, 2, 3]);
  const datasets = random.pick([1, 1, 2, 2, 3]);
  return {
    datasets: Array.from({ length: datasets }, (_, i) => planDataset(i, random))
      .flatMap((plan, i) =>
        isRevisable(plan) && random.chance(0.8) ? withRevision(plan, planDataset(i, random), random) : [plan],
      )
      .map((plan) => (sharesData(seed) ? withSharedData(plan) : plan))
      .map((plan) => ({ ...plan, isPacked: plan.refusal === undefined && packing.chance(0.5) })),
    processesAtMs: Array.from({ length: processes }, (_, i) => (i === 0 ? 0 : random.between(0, 20_000))),
    stormMs: random.pick([60_000, 120_000, 240_000]),
  };
}

function planDataset(index: number, random: SeededRandom): DatasetPlan {
  const owner = random.pick(OWNERS) as string as UserId;
  const dataset = `simulated000000${index}` as DatasetId;
  const installTargets = random.pick([[PLASMO], [TOXO], [PLASMO, TOXO], [PLASMO, TOXO]]);
  const bad = random.chance(0.08);
  const files: Record<string, string> = { 'genes.txt': `gene ${index}\n` };
  if (random.chance(0.3)) files['more.txt'] = 'x'.repeat(random.between(0, 200));
  if (bad) files['genes.exe'] = 'no gene';
  const atMs = random.between(0, 15_000);
  const verdict = verdictOf(random, ['invalid', 'script-error', 'poison']);
  return {
    owner,
    dataset,
    atMs,
    metadata: metadataOf(owner, { installTargets, name: `dataset ${index}` }),
    files,
    properties: random.chance(0.3) ? { 'p.tsv': 'first' } : {},
    isPacked: false,
    refusal: bad ? "'genes.exe' has a file extension that this data type does not allow" : undefined,
    verdicts: {
      import: verdict,
      data: new Map(
        installTargets.map((id) => [id, verdictOf(random, ['invalid', 'script-error', 'missing-dependency'])]),
      ),
      meta: new Map(installTargets.map((id) => [id, verdictOf(random, ['invalid', 'script-error'])])),
    },
    edits: planEdits(random, atMs, verdict.kind !== 'poison'),
  };
}

/** What the plugin says about the data is one for all; which dependencies are there is each target's own. */
function withSharedData(plan: DatasetPlan): DatasetPlan {
  const { verdicts } = plan;
  const said = [...verdicts.data.values()].find(({ kind }) => kind !== 'missing-dependency');
  const data = [...verdicts.data].map(
    ([id, own]) => [id, said && own.kind !== 'missing-dependency' ? said : own] as const,
  );
  return { ...plan, verdicts: { ...verdicts, data: new Map(data) } };
}

/** Whoever deletes or edits it meanwhile would make its end a matter of timing. */
const isRevisable = ({ refusal, verdicts, edits }: DatasetPlan): boolean =>
  refusal === undefined && verdicts.import.kind === 'success' && edits.length === 0;

/** The dataset, and one that takes its place. */
function withRevision(plan: DatasetPlan, next: DatasetPlan, random: SeededRandom): readonly DatasetPlan[] {
  const { owner, dataset, metadata } = plan;
  const revisionId = revisionOf(dataset, 1);
  const entry = { timestamp: metadata.created, revisionNote: '' };
  const revisionHistory = {
    originalId: dataset,
    revisions: [
      { ...entry, action: 'create', revisionId: dataset },
      { ...entry, action: 'revise', revisionId },
    ],
  } as const;
  const revision: DatasetPlan = {
    ...next,
    owner,
    dataset: revisionId,
    revises: dataset,
    atMs: plan.atMs + random.between(1_000, 60_000),
    metadata: { ...next.metadata, owner, revisionHistory },
    edits: [],
  };
  return [plan, revision];
}

/** Its data are going to be on every target, so that it takes the place of what it revises. */
export const replaces = ({ refusal, verdicts }: DatasetPlan): boolean =>
  refusal === undefined &&
  verdicts.import.kind === 'success' &&
  [...verdicts.data.values()].every(({ kind }) => kind === 'success');

function planEdits(random: SeededRandom, uploadMs: number, mayDelete: boolean): readonly Edit[] {
  let atMs = uploadMs;
  return Array.from({ length: random.pick([0, 0, 1, 2, 4, 6]) }, (_, i): Edit => {
    atMs += random.between(0, random.pick([100, 5_000, 40_000]));
    const kinds = [
      'patch',
      'patch',
      'property',
      'offer',
      'receipt',
      ...(mayDelete ? (['delete', 'undelete'] as const) : []),
    ];
    return { atMs, ...planEdit(i, random.pick(kinds as readonly Edit['kind'][]), random) };
  });
}

function planEdit(i: number, kind: Edit['kind'], random: SeededRandom) {
  switch (kind) {
    case 'patch':
      return { kind, name: `name ${i}` };
    case 'property':
      return {
        kind,
        name: random.pick(['p.tsv', 'q.tsv']),
        content: random.chance(0.7) ? `property ${i}` : undefined,
      };
    case 'offer':
      return { kind, recipient: random.pick(RECIPIENTS), action: random.pick(['grant', 'grant', 'revoke'] as const) };
    case 'receipt':
      return { kind, recipient: random.pick(RECIPIENTS), action: random.pick(['accept', 'accept', 'reject'] as const) };
    case 'delete':
    case 'undelete':
      return { kind };
    default:
      return kind satisfies never;
  }
}

function verdictOf(random: SeededRandom, others: readonly Verdict['kind'][]): Verdict {
  const kind = random.chance(0.8) ? 'success' : random.pick(others);
  switch (kind) {
    case 'success':
      return { kind, warnings: random.chance(0.2) ? ['one row is odd'] : [] };
    case 'invalid':
      return { kind, messages: ['no gene', 'no plasmid'] };
    case 'missing-dependency':
      return { kind, messages: ['build 68 is missing'] };
    case 'script-error':
      return { kind, message: 'the script failed' };
    case 'poison':
      return { kind };
    default:
      return kind satisfies never;
  }
}
