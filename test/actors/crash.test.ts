// Every call of every port goes wrong once, in each way that there is, over the whole way of a dataset through the
// lanes; whatever happened, the end is that of the undisturbed run.

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { revisionOf, type TargetId, type UserId } from '../../engine/model/ids.ts';
import { serializeMetadata } from '../../engine/model/metadata.ts';
import { type DatasetAddress, fileKey, objectKey } from '../../engine/model/object-key.ts';
import type { FakeOutcome, FakePluginCall } from '../fakes/fake-plugin-client.ts';
import { historyOf, newAddress, PLASMO, TOXO } from '../support/dataset-samples.ts';
import { type Fault, FaultGate } from '../support/fault-gate.ts';
import { LaneWorld, type Upload } from '../support/lane-world.ts';
import { remoteServer } from '../support/remote-server.ts';
import { sampled } from '../support/sampled.ts';

const never = new AbortController().signal;
/** Runs at once: they wait for files now and then. */
const AT_ONCE = 8;

interface Story {
  readonly upload?: Upload;
  /** Brings the world to where the faults begin. */
  readonly begin?: (world: LaneWorld, at: DatasetAddress) => Promise<void>;
  readonly decide?: LaneWorld['plugin']['decide'];
  /** Both targets have one data schema. */
  readonly sharesData?: true;
  /** Nothing of the dataset is left in the end. */
  readonly gone?: true;
  /** What failed installs may leave; nothing by default. */
  readonly left?: (at: DatasetAddress) => readonly string[];
}

/** How a story ends for a dataset of which nothing is left. */
const GONE = { record: undefined, control: {}, keys: [], bytes: 0, jobs: [], installed: [], left: [], rows: [] };

const [ANN, BOB] = ['71', '72'] as [UserId, UserId];
const GRANTED = { offer: 'grant', receipt: 'accept' } as const;
const REINSTALL = { status: 'ready-for-reinstall' } as const;
/** Where the targets' calls mixing adds nothing. */
const ONE_TARGET: Upload = { metadata: { installTargets: [PLASMO] } };

const elsewhere = await remoteServer(t, ({ url }, response) => {
  response.writeHead(url === '/genes.txt' ? 200 : 404).end('PF3D7_0100000\n');
});

const stories: Record<string, Story> = {
  'an upload on its way to both targets': { upload: { properties: { 'genes.tsv': 'a\tb\n' } } },
  'an upload that is fetched from a URL': {
    upload: { ...ONE_TARGET, url: elsewhere.url('/genes.txt') },
    decide: ({ kind }) =>
      kind === 'import' ? { kind: 'invalid', validation: { basic: ['no gene'], community: [] } } : undefined,
  },
  'an upload by URL that is refused': { upload: { url: elsewhere.url('/none.txt') } },
  'an upload that is refused': { upload: { files: { 'genes.csv': 'a,b\n' } } },
  'an import that the plugin refuses': {
    decide: ({ kind }) =>
      kind === 'import' ? { kind: 'invalid', validation: { basic: ['no gene'], community: [] } } : undefined,
  },
  'installs that end differently': {
    begin: async (world) => {
      for (const lane of ['upload', 'import', 'updateMeta'] as const) await world.run(lane);
    },
    decide: ({ kind, target }) => {
      if (kind !== 'installData' && kind !== 'installFiles') return undefined;
      return target === PLASMO
        ? { kind: 'missing-dependency', messages: ['build 68 is\nmissing'] }
        : { kind: 'success', validation: { basic: ['one row is odd', 'so is\nanother'], community: [] } };
    },
  },
  'an install that fails after its first commit': {
    upload: ONE_TARGET,
    left: ({ dataset }) => [`${PLASMO}/${dataset}`],
    decide: failingInstall,
  },
  'an install that failed after its first commit and is tried again': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      const { decide } = world.plugin;
      world.plugin.decide = failingInstall;
      await world.finish();
      world.plugin.decide = decide;
      const token = world.schema.rows.get(at.dataset)?.token ?? 0;
      await world.targets.get(PLASMO)?.write(at.dataset, { messages: { data: REINSTALL } }, token, never);
      world.event('install', at);
    },
  },
  'the deletion of a dataset whose install failed after its first commit': {
    upload: ONE_TARGET,
    decide: failingInstall,
    begin: async (world, at) => {
      await world.finish();
      await flag(world, at, 'delete-flag');
    },
  },
  'metadata that change after the install': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      await world.finish();
      const metadata = { ...world.dataset(at).metadata, name: 'Other genes' };
      await world.store.put(objectKey(at, 'vdi-meta.json'), Buffer.from(serializeMetadata(metadata)), {}, never);
    },
  },
  'data that are installed again': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      await world.finish();
      const token = world.schema.rows.get(at.dataset)?.token ?? 0;
      await world.targets.get(PLASMO)?.write(at.dataset, { messages: { data: REINSTALL } }, token, never);
      world.event('install', at);
    },
  },
  'a share that is granted and accepted': {
    begin: async (world, at) => {
      await world.finish();
      await world.share(at, { recipient: ANN, ...GRANTED });
      await world.share(at, { recipient: BOB, offer: 'grant' });
    },
  },
  'a share that is revoked, beside one that stays': {
    begin: async (world, at) => {
      await world.finish();
      for (const recipient of [ANN, BOB]) await world.share(at, { recipient, ...GRANTED });
      await world.finish();
      await world.share(at, { recipient: ANN, offer: 'revoke' });
    },
  },
  'metadata whose first rows are written after a share was accepted': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      const { decide } = world.plugin;
      world.plugin.decide = () => ({ kind: 'script-error', message: 'no' });
      await world.share(at, { recipient: ANN, ...GRANTED });
      await world.finish();
      world.plugin.decide = decide;
      world.catalog.datasets.set(at.dataset, { ...world.dataset(at), import: { status: 'queued', messages: [] } });
      world.event('import', at);
      world.event('updateMeta', at);
    },
  },
  'the deletion of a dataset that is installed on two targets': {
    begin: async (world, at) => {
      await world.finish();
      await flag(world, at, 'delete-flag');
    },
  },
  'a revision that supersedes the one before': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      await world.finish();
      await revise(world, at);
      for (const lane of ['upload', 'import', 'updateMeta'] as const) await world.run(lane);
    },
  },
  'the deletion of the newest of two revisions': {
    upload: ONE_TARGET,
    begin: async (world, at) => {
      await world.finish();
      const newest = await revise(world, at);
      await world.finish();
      await flag(world, newest, 'delete-flag');
    },
  },
  'the removal of a deleted dataset': {
    upload: { properties: { 'genes.tsv': 'a\tb\n' } },
    gone: true,
    begin: async (world, at) => {
      await world.finish();
      await flag(world, at, 'delete-flag');
      await world.finish();
      world.catalog.apply(at.dataset, [{ set: 'state', state: 'pruning' }]);
      world.jobs.enqueue({ lane: 'hardDelete', ...at, eventId: 99, source: 'pruner' });
    },
  },
  'the removal of a dataset whose metadata are gone': {
    gone: true,
    begin: async (world, at) => {
      await world.finish();
      await world.store.remove([objectKey(at, 'vdi-meta.json')], never);
    },
  },
  'the removal of a dataset that only a target knows': {
    upload: ONE_TARGET,
    gone: true,
    begin: async (world, at) => {
      await world.finish();
      world.catalog.datasets.delete(at.dataset);
      await world.store.remove([objectKey(at, 'vdi-meta.json')], never);
    },
  },
  'the trimming of a superseded revision': {
    upload: { properties: { 'genes.tsv': 'a\tb\n' } },
    begin: async (world, at) => {
      await world.finish();
      await flag(world, at, 'revised-flag');
      await world.store.put(fileKey(at, 'documents', 'a.pdf'), Buffer.from('a'), {}, never);
      await world.finish();
      world.jobs.enqueue({ lane: 'hardDelete', ...at, eventId: 99, source: 'pruner' });
    },
  },
};

/** The same with one data schema for both targets. */
const SHARED = [
  'an upload on its way to both targets',
  'installs that end differently',
  'a share that is revoked, beside one that stays',
  'the deletion of a dataset that is installed on two targets',
  'the removal of a deleted dataset',
  'the removal of a dataset whose metadata are gone',
] as const;
for (const name of SHARED) {
  const story = stories[name];
  if (!story) throw new Error(`no story is called ${name}`);
  stories[`${name}, which share their rows`] = { ...story, sharesData: true };
}
stories['installs that fail on both targets, which share their rows'] = {
  sharesData: true,
  decide: failingInstall,
  left: ({ dataset }) => [`shared/${dataset}`],
};
stories['the deletion of what failed on both targets, which share their rows'] = {
  sharesData: true,
  decide: failingInstall,
  begin: async (world, at) => {
    await world.finish();
    await flag(world, at, 'delete-flag');
  },
};
stories['data that are installed again on one target, which shares its rows'] = {
  sharesData: true,
  begin: async (world, at) => {
    await world.finish();
    await reinstall(world, at, [PLASMO]);
  },
};
stories['data that are installed again on both targets, which share their rows'] = {
  sharesData: true,
  begin: async (world, at) => {
    await world.finish();
    await reinstall(world, at, [PLASMO, TOXO]);
  },
};
stories['a revision of a dataset on both targets, which share their rows'] = {
  sharesData: true,
  begin: async (world, at) => {
    await world.finish();
    await revise(world, at, [PLASMO, TOXO]);
    for (const lane of ['upload', 'import', 'updateMeta'] as const) await world.run(lane);
  },
};

async function reinstall(world: LaneWorld, at: DatasetAddress, targets: readonly TargetId[]): Promise<void> {
  const token = world.schema.rows.get(at.dataset)?.token ?? 0;
  for (const id of targets)
    await world.targets.get(id)?.write(at.dataset, { messages: { data: REINSTALL } }, token, never);
  world.event('install', at);
}

function failingInstall({ kind }: FakePluginCall): FakeOutcome | undefined {
  return kind === 'installData' ? { kind: 'script-error', message: 'exit code 1' } : undefined;
}

async function flag(world: LaneWorld, at: DatasetAddress, name: 'delete-flag' | 'revised-flag'): Promise<void> {
  await world.store.put(objectKey(at, name), new Uint8Array(), {}, never);
}

/** Accepts the first revision of the dataset. */
function revise(
  world: LaneWorld,
  { owner, dataset }: DatasetAddress,
  installTargets: readonly TargetId[] = [PLASMO],
): Promise<DatasetAddress> {
  const next = revisionOf(dataset, 1);
  const revisionHistory = historyOf(dataset, next);
  return world.accept({ metadata: { installTargets, revisionHistory } }, { owner, dataset: next });
}

const FAULTS: readonly Fault[] = ['crash', 'fail', 'mute'];
/** A crash before a read is one after the write before it, and an answer that is lost had no effect. */
const READS = /\.(find|findWithAttempts|isReceiving|source|get|head|list|attempts|state|probe)$/;
const READ_FAULTS: readonly Fault[] = ['fail'];
const root = await mkdtemp(join(tmpdir(), 'longshore-crash-'));
t.teardown(() => rm(root, { recursive: true }));
const at = newAddress();

for (const [name, story] of Object.entries(stories)) {
  t.test(`with any call of a port cut off or failed, it ends the same: ${name}`, async (t) => {
    const undisturbed = await tell(story, 'crash', 0);
    const calls = undisturbed.calls.map((call, i) => ({ call, number: i + 1 }));
    const all = calls.flatMap((at) => (READS.test(at.call) ? READ_FAULTS : FAULTS).map((fault) => ({ ...at, fault })));
    const runs = sampled(all, ({ fault, number }) => `${name} ${fault} ${number}`);
    const queue = runs.values();
    let same = 0;
    const worker = async (): Promise<void> => {
      for (const { fault, call, number } of queue) {
        const { end, struck } = await tell(story, fault, number);
        // Comparing with a report of the difference takes longer than the run.
        if (struck && isDeepStrictEqual(end, undisturbed.end)) same++;
        else t.strictSame({ struck, ...end }, { struck: true, ...undisturbed.end }, `${fault} at ${number}, ${call}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    t.equal(same, runs.length);
    const { record, control, keys, bytes, jobs, installed, left, rows } = undisturbed.end;
    if (story.gone) t.strictSame({ record, control, keys, bytes, jobs, installed, left, rows }, GONE);
    // Rows are there as long as anything that they belong to is, and once for all targets that share them.
    const places = [...installed.map(([place]) => place), ...left];
    const schemaOf = (place: string): string => (story.sharesData ? place.replace(/^[^/]+/, 'shared') : place);
    t.strictSame(rows, [...new Set(places.map(schemaOf))].sort());
    t.strictSame(
      { left: undisturbed.end.left, doubled: undisturbed.end.doubled },
      { left: story.left?.(at) ?? [], doubled: [] },
    );
    t.ok(all.length > 10);
  });
}

/** Runs the story with the one fault; a process that crashed is followed by another. */
async function tell(story: Story, fault: Fault, number: number) {
  const scratch = await mkdtemp(join(root, 'w-'));
  const world = new LaneWorld(scratch, story);
  const doubled: string[] = [];
  world.plugin.decide = (call, signal) => {
    const place = `${call.target}/${call.dataset}`;
    const { installed, left } = world.plugin;
    if (call.kind === 'installData' && (installed.has(place) || left.has(place))) doubled.push(place);
    return story.decide?.(call, signal);
  };
  await world.accept(story.upload, at);
  await story.begin?.(world, at);
  const gate = new FaultGate(fault, number, () => world.leases.kill(process.id));
  const process = world.process(gate);
  await world.finish(process);
  await world.finish();
  const end = {
    record: world.catalog.datasets.has(at.dataset) ? await world.record(at) : undefined,
    control: await world.control(at),
    keys: world.keys(at),
    revision: await revisionOfStory(world),
    manifest: world.json(at, 'vdi-manifest.json'),
    uploadError: world.json(at, 'upload-error.json'),
    bytes: await world.uploads.usage(at.owner, never),
    source: await world.uploads.source(at.dataset, never),
    jobs: world.jobRows(),
    leases: world.leases.held(),
    attempts: await world.attempts(at),
    installed: [...world.plugin.installed].sort(([a], [b]) => (a < b ? -1 : 1)),
    left: leftOf(world, story),
    rows: [...world.plugin.rows].sort(),
    doubled: [...doubled, ...world.plugin.doubled],
    scratch: await readdir(scratch),
  };
  return { end, calls: gate.calls, struck: gate.struck };
}

/** Of targets that share their rows, it is the one that was tried last: which that is depends on the fault. */
function leftOf(world: LaneWorld, { sharesData }: Story): readonly string[] {
  return [...world.plugin.left].map((place) => (sharesData ? place.replace(/^[^/]+/, 'shared') : place)).sort();
}

/** What became of the revision that a story made, if it did. */
async function revisionOfStory(world: LaneWorld) {
  const next = { owner: at.owner, dataset: revisionOf(at.dataset, 1) };
  if (!world.catalog.datasets.has(next.dataset)) return undefined;
  return { record: await world.record(next), control: await world.control(next), keys: world.keys(next) };
}
