import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { InstallFolder, sweepDatasets } from '../../../actors/plugin-host/install-folder.ts';
import type { DatasetId } from '../../../engine/model/ids.ts';
import { silentLogger } from '../../../engine/runtime/log.ts';
import { systemClock } from '../../../engine/runtime/time.ts';
import { cutOff, failing } from '../../fixtures/cut-off.ts';
import { putFile, readTree } from '../../http/plugin-host/host-setup.ts';

const log = silentLogger();
const DATASET = 'ds-1' as DatasetId;
const OLD = { 'both.txt': 'old', 'sub/old.txt': 'old' };
const NEW = { 'both.txt': 'new', 'sub/new.txt': 'new' };

async function setup(t: Test) {
  const site = await mkdtemp(join(tmpdir(), 'longshore-site-'));
  t.teardown(() => rm(site, { recursive: true, force: true }));
  const folder = new InstallFolder(site, DATASET, systemClock, log);
  const put = async (dir: string, files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) await putFile(join(dir, name), text);
  };
  const start = (plugins: readonly string[] = ['mine']): Promise<void> =>
    sweepDatasets(site, plugins, systemClock, log);
  return { site, folder, put, start };
}

/** What the host does around a script that installs `NEW` over `OLD`. */
async function install(folder: InstallFolder, script: () => Promise<void>): Promise<void> {
  await folder.prepare('mine');
  await script();
  await folder.commit();
  await folder.discard();
}

/** Every pair of a step of the work and a step of the start after it, until both come to their end uncut. */
async function atEveryStep(t: Test, work: (at: Awaited<ReturnType<typeof setup>>) => Promise<void>) {
  const seen: {
    readonly atCut: Tree;
    readonly names: readonly string[];
    readonly after: Tree;
    readonly left: string[];
  }[] = [];
  for (let step = 1, wholeWork = false; !wholeWork; step++) {
    for (let startStep = 1, wholeStart = false; !wholeStart; startStep++) {
      const at = await setup(t);
      await at.put(at.folder.final, OLD);
      wholeWork = await cutOff(step, () => work(at));
      const [atCut, names] = [await readTree(at.folder.final), await readdir(at.site)];
      wholeStart = await cutOff(startStep, () => at.start());
      await at.start();
      seen.push({ atCut, names, after: await readTree(at.folder.final), left: await readdir(at.site) });
    }
  }
  return seen;
}

type Tree = Awaited<ReturnType<typeof readTree>>;

t.test('a swap that is cut off at any step is finished by the next start, be it cut off too', async (t) => {
  const seen = await atEveryStep(t, ({ folder, put }) => install(folder, () => put(folder.staging, NEW)));
  t.ok(seen.length > 20, `${seen.length} pairs of steps`);
  const outcomes = { old: 0, new: 0 };
  for (const { atCut, names, after, left } of seen) {
    const begun = names.includes('.ready-ds-1') || atCut?.['both.txt'] === 'new';
    outcomes[begun ? 'new' : 'old']++;
    t.strictSame([after, left], [begun ? NEW : OLD, ['ds-1']], names.join(' '));
    if (atCut !== undefined) t.strictSame(atCut, atCut['both.txt'] === 'new' ? NEW : OLD, 'never a mix');
  }
  t.ok(outcomes.old > 0 && outcomes.new > 0);
  t.ok(
    seen.some(({ atCut }) => atCut === undefined),
    'also between the two renames of the swap',
  );
});

t.test('an uninstall that is cut off at any step leaves the dataset whole or gone', async (t) => {
  const seen = await atEveryStep(t, async ({ folder }) => {
    await folder.remove();
    await folder.discard();
  });
  for (const { atCut, after, left } of seen)
    t.strictSame([after, left], atCut === undefined ? [undefined, []] : [OLD, ['ds-1']]);
  t.ok(seen.some(({ after }) => after !== undefined) && seen.some(({ after }) => after === undefined));
});

t.test("what another plugin's host has under way is left alone", async (t) => {
  const { site, folder, put, start } = await setup(t);
  await folder.prepare('theirs');
  await put(folder.staging, NEW);
  await put(join(site, '.ready-ds-2'), NEW);
  await writeFile(join(site, '.owner-ds-2'), 'theirs');
  await start();
  t.strictSame((await readdir(site)).sort(), ['.owner-ds-1', '.owner-ds-2', '.ready-ds-2', '.staging-ds-1']);
  t.equal(await readFile(join(site, '.owner-ds-1'), 'utf8'), 'theirs');
  await folder.commit();
  await folder.discard();
  await start(['mine', 'theirs']);
  t.strictSame([await readTree(join(site, 'ds-1')), await readTree(join(site, 'ds-2'))], [NEW, NEW]);
  t.strictSame((await readdir(site)).sort(), ['ds-1', 'ds-2']);
});

t.test('a swap that fails leaves the old files, and nothing for the next start to finish', async (t) => {
  const { site, folder, put, start } = await setup(t);
  await put(folder.final, OLD);
  await folder.prepare('mine');
  await put(folder.staging, NEW);
  const mend = failing(['rename'], /\.ready-ds-1$/, 'EIO');
  await t.rejects(folder.commit(), { code: 'EIO' });
  mend();
  await folder.discard();
  t.strictSame([await readTree(folder.final), await readdir(site)], [OLD, ['ds-1']]);
  await put(join(site, '.ready-ds-1'), NEW);
  await folder.remove();
  await folder.discard();
  await start();
  t.strictSame(await readdir(site), [], 'what was uninstalled stays away');
});

t.test('old files that cannot be removed do not fail an installation; a later start removes them', async (t) => {
  const { site, folder, put, start } = await setup(t);
  await put(folder.final, OLD);
  await folder.prepare('mine');
  await put(folder.staging, NEW);
  const mend = failing(['rm', 'rmdir', 'unlink'], /\/deleting-ds-1-/, 'EBUSY');
  await folder.commit();
  await folder.discard();
  t.strictSame(await readTree(folder.final), NEW);
  t.equal((await readdir(site)).length, 2);
  await start();
  t.equal((await readdir(site)).length, 2, 'a start that cannot remove them either starts');
  mend();
  await start();
  t.strictSame(await readdir(site), ['ds-1']);
});

t.test('a folder of datasets that is not there yet has no leftovers', async (t) => {
  const { site } = await setup(t);
  await sweepDatasets(join(site, 'not', 'there'), ['mine'], systemClock, log);
  await mkdir(join(site, '.staging-'));
  await writeFile(join(site, '.owner-ds-1'), '');
  await sweepDatasets(site, ['mine'], systemClock, log);
  t.strictSame(await readdir(site), ['.staging-'], 'a name of no dataset is not ours');
});
