// Every call of a lane over HTTP, and to the host in its own process. Replies, failures, and everything that scripts, sites, logs
// and metrics see are the same.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { targetId, type UserId } from '../../../engine/model/ids.ts';
import { traceIdOf } from '../../../engine/model/traceparent.ts';
import { unzip } from '../../conformance/plugin-client.ts';
import { zipOf } from '../../fixtures/archives.ts';
import {
  ALPHA,
  BETA,
  DEPENDENCIES,
  FILES,
  imported,
  installation,
  meta,
  metadataOf,
  removal,
  run,
  SCRIPTS,
  type ScriptName,
  setup,
  traceparent,
  WAYS,
  type World,
} from './ways-to-call.ts';

const SUCCESS = { kind: 'success' };
const validation = (basic: readonly string[], community: readonly string[] = []) => ({
  validation: { basic, community },
});
const failure = (kind: string, change: object = {}) => ({
  ...{ kind, unreachable: false, unanswered: false, maxAttempts: undefined },
  ...change,
});
const NOT_SERVED = failure('transient', { unreachable: true, unanswered: true });

interface Row {
  readonly what: string;
  readonly act: (world: World) => Promise<unknown>;
  readonly expected: unknown;
  /** How far its script comes depends on the machine. */
  readonly cutOff?: true;
}

const REFUSES = 'echo "no such gene"; echo "community:the list is old"; exit 99';
const REFUSED = { kind: 'invalid', ...validation(['no such gene'], ['the list is old']) };
const FULL = 'the disk has 5 bytes free';

const ROWS: readonly Row[] = [
  {
    what: 'an import',
    act: async (world) => [
      await run(
        world,
        'import-dataset',
        await imported(world, 'ok', { metadata: metadataOf('ok', { dependencies: DEPENDENCIES }) }),
      ),
      Object.keys(await unzip(join(world.scratchDir, 'install-ready.zip'))),
    ],
    expected: [
      {
        ...SUCCESS,
        manifest: {
          rawUploads: [
            { name: 'a.txt', size: 6 },
            { name: 'sub/b c.txt', size: 5 },
            { name: 'vdi-meta.json', size: 11 },
          ],
          installReady: [{ name: 'a.txt', size: 6 }],
        },
        ...validation(
          [
            "left out, as files that desktops and office programs add: '.DS_Store'",
            "left out: the upload's own vdi-meta.json, a reserved name, where the metadata go",
            'one line was odd',
          ],
          ['für alle λ'],
        ),
        dataFile: 'zip',
      },
      ['a.txt'],
    ],
  },
  {
    what: 'scripts refuse',
    act: async (world) => {
      for (const name of ['dataCleaning', 'dataInstall', 'metaUpdate'] as const)
        await world.script(name, 'no', REFUSES);
      return [
        await run(world, 'import-dataset', await imported(world, 'no')),
        await run(world, 'install-data', await installation(world, 'no')),
        await run(world, 'install-meta', await meta(world, 'no')),
      ];
    },
    expected: [REFUSED, REFUSED, REFUSED],
  },
  {
    what: 'scripts fail',
    act: async (world) => {
      for (const name of Object.keys(SCRIPTS) as ScriptName[]) await world.script(name, 'bad', 'exit 3');
      const metadata = metadataOf('bad', { dependencies: DEPENDENCIES });
      return [
        await run(world, 'uninstall', removal('bad')),
        await run(world, 'import-dataset', await imported(world, 'bad')),
        await run(world, 'install-data', await installation(world, 'bad')),
        await run(world, 'install-data', await installation(world, 'bad', { metadata })),
        await run(world, 'install-meta', await meta(world, 'bad')),
      ];
    },
    expected: ['uninstall', 'dataCleaning', 'dataInstall', 'checkCompatibility', 'metaUpdate'].map((name) => ({
      ...{ kind: 'script-error', message: `script DIR/${name}.sh ended with exit code 3`, exitCode: 3 },
    })),
  },
  {
    what: 'scripts want to be run later',
    act: async (world) => {
      for (const name of Object.keys(SCRIPTS) as ScriptName[]) await world.script(name, 'later', 'exit 75');
      return [
        await run(world, 'import-dataset', await imported(world, 'later')),
        await run(world, 'install-data', await installation(world, 'later')),
        await run(world, 'install-meta', await meta(world, 'later')),
      ];
    },
    expected: [failure('transient'), failure('transient'), failure('transient')],
  },
  {
    what: 'an import without output, and one of an archive that harms',
    act: async (world) => {
      await world.script('dataCleaning', 'none', 'exit 0');
      return [
        await run(world, 'import-dataset', await imported(world, 'none')),
        await run(world, 'import-dataset', await imported(world, 'harm', {}, Buffer.from('no archive'))),
        await run(world, 'install-data', await installation(world, 'harm', {}, Buffer.from('no archive'))),
        await run(world, 'import-dataset', await imported(world, 'blank', {}, await zipOf({ 'vdi-meta.json': 'x' }))),
      ];
    },
    expected: [
      {
        kind: 'script-error',
        message:
          'the import script wrote no output files: at least one has to be in the folder that is its second argument',
      },
      failure('defect'),
      failure('defect'),
      { kind: 'invalid', ...validation(['the upload holds no file']) },
    ],
  },
  {
    what: 'the whole life of a dataset on two targets that share their rows',
    act: async (world) => {
      const metadata = metadataOf('life', { dependencies: DEPENDENCIES });
      const install = await installation(world, 'life', { metadata });
      const { payload: _payload, properties: _properties, manifest: _manifest, ...call } = install;
      return [
        await run(world, 'install-data', install),
        await run(world, 'install-data', install),
        await run(world, 'install-meta', await meta(world, 'life')),
        await run(world, 'install-files', { ...call, target: BETA, source: ALPHA }),
        await world.installed(),
        await run(world, 'uninstall-files', removal('life')),
        await run(world, 'uninstall', removal('life', { target: BETA })),
        await run(world, 'uninstall', removal('life')),
        await world.installed(),
      ];
    },
    expected: [
      { ...SUCCESS, ...validation(['loaded']) },
      {
        kind: 'server-error',
        message: 'HOST/sites/build-1/AlphaDB/life is there already; uninstall dataset life first',
      },
      { ...SUCCESS, ...validation([]) },
      { ...SUCCESS, ...validation([]) },
      {
        tree: {
          'build-1/AlphaDB/life/properties': 'Größe.tsv\nprops "1".tsv\nx\ty\n',
          'build-1/BetaDB/life/vdi-meta.json': /^\{"type":\{"name":"testtype".*"owner":9223372036854775807,/,
        },
      },
      SUCCESS,
      SUCCESS,
      SUCCESS,
      { tree: {} },
    ],
  },
  {
    what: 'a dependency is missing',
    act: async (world) => {
      await world.script('checkCompatibility', 'needs', 'echo "Genome-1 51 is missing"; echo; exit 99');
      const metadata = metadataOf('needs', { dependencies: DEPENDENCIES });
      const install = await installation(world, 'needs', { metadata });
      return [
        await run(world, 'install-data', install),
        await run(world, 'install-files', { ...install, target: BETA, source: ALPHA }),
      ];
    },
    expected: Array(2).fill({ kind: 'missing-dependency', messages: ['Genome-1 51 is missing'] }),
  },
  {
    what: 'requests that the host refuses',
    act: async (world) => {
      const type = { name: 'unknown', version: '1.0' };
      const tab = [{ resourceIdentifier: 'a\tb', resourceDisplayName: 'x', resourceVersion: '1' }];
      return [
        await run(world, 'import-dataset', await imported(world, 'x', { metadata: metadataOf('x', { type }) })),
        await run(world, 'import-dataset', await imported(world, 'x', { metadata: metadataOf(' ') })),
        await run(
          world,
          'install-data',
          await installation(world, 'x', { metadata: metadataOf('x', { dependencies: tab }) }),
        ),
        await run(world, 'install-data', await installation(world, 'x', { target: targetId('NoSuch') })),
        await run(
          world,
          'install-meta',
          await meta(world, 'x', { properties: [await world.put('1/x/p', Buffer.from('p'), '../p')] }),
        ),
        await run(world, 'uninstall', removal('-rf')),
        await run(world, 'uninstall', removal('a/b')),
        await run(world, 'install-files', { ...(await installation(world, 'x')), source: ALPHA }),
      ];
    },
    expected: Array(8).fill(failure('defect')),
  },
  {
    what: 'a host that serves as many calls as it may',
    act: async (world) => {
      using _first = world.host.admit();
      using _second = world.host.admit();
      return [
        await run(world, 'import-dataset', await imported(world, 'busy')),
        await run(world, 'uninstall', removal('busy')),
      ];
    },
    expected: [NOT_SERVED, NOT_SERVED],
  },
  {
    what: 'a call that waits too long for its turn',
    act: async (world) => {
      await world.script('uninstall', 'turn', `while [ ! -e "$PROJECT_HOME/go" ]; do sleep .02; done`);
      const first = run(world, 'uninstall', removal('turn'));
      await world.running();
      const second = await run(world, 'install-data', await installation(world, 'turn'));
      await world.go();
      return [second, await first];
    },
    expected: [NOT_SERVED, SUCCESS],
  },
  {
    what: 'a full disk, before a call and after a failed one',
    act: async (world) => {
      const answers = [];
      world.lacks.push(FULL);
      answers.push(await run(world, 'import-dataset', await imported(world, 'full')));
      await world.script('dataCleaning', 'full', REFUSES);
      world.lacks.push(undefined, FULL);
      answers.push(await run(world, 'import-dataset', await imported(world, 'full')));
      await world.script('uninstall', 'full', 'exit 3');
      world.lacks.push(FULL);
      answers.push(await run(world, 'uninstall', removal('full')));
      return [...answers, world.lacks.length];
    },
    expected: [NOT_SERVED, failure('transient'), failure('transient'), 0],
  },
  {
    what: 'a call that takes longer than its scripts may',
    act: async (world) => {
      await world.script('uninstall', 'slow', 'exec sleep 60');
      const type = { name: 'hasty', version: '1.0' };
      return run(world, 'uninstall', removal('slow', { plugin: 'hasty', type }));
    },
    expected: failure('transient', { maxAttempts: 3 }),
    cutOff: true,
  },
  {
    what: 'an object that was replaced, or is gone, and a store that is away',
    act: async (world) => {
      const install = await installation(world, 'moved');
      const imports = await imported(world, 'moved');
      await world.put(install.payload.key, await zipOf({ 'a.txt': 'other\n' }), 'install-ready.zip');
      await world.put(imports.payload.key, await zipOf(FILES), 'import-ready.zip');
      const answers = [
        await run(world, 'install-data', install),
        await run(world, 'import-dataset', imports),
        await run(world, 'install-data', { ...install, payload: { ...install.payload, key: '1/moved/gone' } }),
      ];
      world.store.away = true;
      answers.push(await run(world, 'import-dataset', { ...imports, payload: { ...imports.payload } }));
      world.store.away = false;
      return answers;
    },
    expected: Array(4).fill(failure('transient')),
  },
  {
    what: 'an abort in the middle of a script',
    act: async (world) => {
      const stop = new AbortController();
      await world.script('dataCleaning', 'stop', 'exec sleep 60 </dev/null >"$PROJECT_HOME/on"');
      const running = run(world, 'import-dataset', await imported(world, 'stop'), stop.signal);
      while (!(await world.homeFiles()).includes('on')) await nextTurn();
      stop.abort(new Error('shutting down'));
      return running;
    },
    expected: failure('aborted'),
  },
];

for (const { what, act, expected, cutOff } of ROWS)
  t.test(`${what}: the same without HTTP as over it`, async (t) => {
    const found: Record<string, unknown> = {};
    for (const way of WAYS) {
      const world = await setup(t, way);
      const answers = world.plain(await act(world));
      while ((await world.scratch()).length > 0) await nextTurn();
      t.match(answers, expected, way);
      const lines = world.lines();
      t.ok(
        lines.every(({ trace }) => trace === traceIdOf(traceparent)),
        `${way}: every line has the trace of the event`,
      );
      found[way] = {
        ...{ answers, installed: await world.installed(), load: world.host.load },
        ...(cutOff ? {} : { lines, seen: await world.seen(), counts: await world.counts() }),
      };
    }
    for (const way of WAYS) t.strictSame(found[way], found.HTTP, way);
  });

t.test('an aborted call does not wait for a script that takes its time to end', async (t) => {
  for (const way of WAYS) {
    const world = await setup(t, way);
    const { host } = world;
    const stop = new AbortController();
    await world.script('uninstall', 'slow', 'trap "" TERM; : >"$PROJECT_HOME/on"; while :; do sleep 1; done');
    const options = { signal: stop.signal, alone: false, owner: '1' as UserId };
    const call = world.tasks.run('uninstall', removal('slow'), options);
    while (!(await world.homeFiles()).includes('on')) await nextTurn();
    stop.abort(new Error('shutting down'));
    await t.rejects(call, { kind: 'aborted', message: /shutting down$/ });
    t.equal(host.load.scripts, 1, `${way}: the script is still being ended`);
    while (host.load.calls > 0) await nextTurn();
    t.strictSame(await world.scratch(), [], `${way}: nothing is left of it`);
  }
});
