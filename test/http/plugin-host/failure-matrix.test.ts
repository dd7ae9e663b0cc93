// Everything that scripts get wrong, by call: what the caller is told, and that nothing is left of it: no process (those
// that left their group included), no file, no descriptor.

import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { unzip } from '../../conformance/plugin-client.ts';
import { readTree } from './host-setup.ts';
import { type Call, type CallOptions, openDescriptors, type ScriptTexts, scriptedHost } from './scripted-host.ts';

interface Row {
  readonly what: string;
  readonly call: Call;
  readonly scripts: ScriptTexts;
  readonly options?: CallOptions;
  readonly status: number;
  readonly json?: unknown;
}

const validation = (isValid: boolean, basic: readonly string[], community: readonly string[] = []) => ({
  isValid,
  basicValidation: basic,
  communityValidation: community,
});
const dependency = (i: number) => ({
  resourceIdentifier: `Genome-${i}`,
  resourceVersion: '51',
  resourceDisplayName: 'A genome',
});
const MANY = Array.from({ length: 5_000 }, (_, i) => dependency(i));
const ONE = [dependency(1)];
/** In the group, out of it, and one that holds the pipes for longer than any test runs. */
const LEAVE_BEHIND =
  'sleep 600 & (trap "" TERM HUP; sleep 600) & setsid sleep 600 & setsid sh -c "trap \'\' TERM; sleep 600" & ';
const FLOOD = `yes ${'x'.repeat(99)} | head -c 100000000; yes ${'y'.repeat(99)} | head -c 20000000 >&2`;
const SLOW = { type: 'hasty' };

const scriptOf = {
  import: 'dataCleaning',
  'install/data': 'dataInstall',
  'install/meta': 'metaUpdate',
  uninstall: 'uninstall',
} as const satisfies Record<Call, string>;
const CALLS = Object.keys(scriptOf) as Call[];

/** The same script at each call. */
const atEach = (row: (call: Call, script: string) => Omit<Row, 'call' | 'scripts'>, text: string): readonly Row[] =>
  CALLS.map((call) => ({ call, scripts: { [scriptOf[call]]: text }, ...row(call, `${scriptOf[call]}.sh`) }));

const failed =
  (code: number, message = `ended with exit code ${code}`) =>
  (_: Call, script: string) => ({
    what: `a script that ${message}`,
    status: 555,
    json: { script: new RegExp(`/${script}$`), 'exit-code': code, message: new RegExp(`${message}$`) },
  });

const ROWS: readonly Row[] = [
  ...atEach(
    (call, script) =>
      call === 'uninstall'
        ? failed(99)(call, script)
        : { what: 'data are refused by exit 99', status: 418, json: validation(false, ['too short'], ['too old']) },
    'echo "basic: too short"; echo "community:too old"; exit 99',
  ),
  ...atEach(failed(1), 'echo "not shown"; exit 1'),
  ...atEach(failed(255), 'exit 255'),
  ...atEach(
    (_, script) => ({
      what: 'a script finds a full disk and asks to be run later',
      status: 503,
      json: {
        status: 'server-error',
        message: new RegExp(`${script} ended with exit code 75: .*it is run again later$`),
      },
    }),
    'echo "not shown"; echo "No space left on device" >&2; exit 75',
  ),
  ...atEach(failed(137, 'was killed by SIGKILL'), 'kill -9 $$'),
  ...atEach(failed(143, 'was killed by SIGTERM'), 'kill -TERM $$'),
  ...atEach(
    (_, script) => ({
      what: 'a script takes too long, ignores SIGTERM and leaves processes behind',
      options: SLOW,
      status: 500,
      json: { message: new RegExp(`${script} took longer than its 0\\.2 s$`) },
    }),
    `trap "" TERM; ${LEAVE_BEHIND} while :; do sleep 1; done`,
  ),
  ...atEach(
    (call) => ({
      what: 'a script ends and leaves processes behind that hold its pipes',
      status: 200,
      ...(call === 'install/data' ? { json: validation(true, []) } : {}),
    }),
    LEAVE_BEHIND,
  ),
  ...atEach(
    (_, script) => ({ ...failed(3)(_, script), what: 'a script fails and leaves processes behind' }),
    `${LEAVE_BEHIND} exit 3`,
  ),
  ...atEach(
    (_, script) => ({
      what: 'a script that does not exist',
      options: { type: 'absent' },
      status: 500,
      json: { message: new RegExp(`${script}\\.absent \\(or its interpreter\\) does not exist$`) },
    }),
    '',
  ),
  ...atEach(
    (_, script) => ({
      what: 'a script that may not be run',
      options: { type: 'forbidden' },
      status: 500,
      json: { message: new RegExp(`${script}\\.forbidden is not executable$`) },
    }),
    '',
  ),
  {
    what: '100 MB on standard output and 20 MB on standard error',
    call: 'install/data',
    scripts: { dataInstall: FLOOD },
    status: 200,
    json: validation(true, [...Array(10_000).fill('x'.repeat(99)), /^\[output truncated: \d+ more lines omitted\]$/]),
  },
  {
    what: '100 MB on standard output, of which nobody wants to know',
    call: 'uninstall',
    scripts: { uninstall: FLOOD },
    status: 200,
  },
  {
    what: 'output that is no UTF-8, has tabs, carriage returns and no line end',
    call: 'install/data',
    scripts: { dataInstall: "printf 'caf\\351\\tx\\r\\ngr\\303\\266\\303\\237e\\n\\ncommunity:  \\316\\273'" },
    status: 200,
    json: validation(true, ['caf\ufffd\tx', 'größe'], ['λ']),
  },
  {
    what: 'the compatibility script says no',
    call: 'install/data',
    scripts: { checkCompatibility: 'while read -r line; do echo "$line?"; done; exit 99', dataInstall: 'exit 1' },
    options: { dependencies: ONE },
    status: 420,
    json: { warnings: ['Genome-1\t51?'] },
  },
  {
    call: 'install/data',
    scripts: { checkCompatibility: 'exit 2' },
    options: { dependencies: ONE },
    ...failed(2)('install/data', 'checkCompatibility.sh'),
  },
  {
    what: 'the compatibility script takes too long to read',
    call: 'install/data',
    scripts: { checkCompatibility: 'exec sleep 600' },
    options: { ...SLOW, dependencies: MANY },
    status: 500,
    json: { message: /checkCompatibility\.sh took longer than its 0\.2 s$/ },
  },
  {
    what: 'the compatibility script does not read its many dependencies',
    call: 'install/data',
    scripts: { checkCompatibility: 'exit 0' },
    options: { dependencies: MANY },
    status: 200,
    json: validation(true, []),
  },
  {
    what: 'the compatibility script reads its many dependencies',
    call: 'install/data',
    scripts: { checkCompatibility: '[ "$(wc -l)" -eq 5000 ] && exit 0; exit 5' },
    options: { dependencies: MANY },
    status: 200,
    json: validation(true, []),
  },
  ...(
    [
      [
        'no output file',
        'exit 0',
        'the import script wrote no output files: at least one has to be in the folder that is its second argument',
      ],
      [
        'an output folder that is gone',
        'rm -r "$2"; exit 0',
        'the import script wrote no output files: at least one has to be in the folder that is its second argument',
      ],
      [
        'output through a link',
        'rm -r "$2"; ln -s "$1" "$2"; exit 0',
        'the import script wrote no output files: at least one has to be in the folder that is its second argument',
      ],
      [
        'an output of a reserved name',
        ': >"$2/vdi-x"',
        "the import script wrote 'vdi-x'; names beginning with 'vdi-' are reserved: choose another",
      ],
      [
        'a pipe as output',
        'mkfifo "$2/p"',
        "the import script wrote 'p', which is neither file nor folder: leave only those in the output folder",
      ],
      [
        'a link as output',
        'ln -s "$1/a.txt" "$2/l"',
        "the import script wrote 'l', a symbolic link: write a copy of what it points to (cp -L)",
      ],
      [
        'an output name that is no UTF-8',
        ': >"$2/$(printf \'\\351\')"',
        "the import script wrote '\\xe9', a name that is not UTF-8: give it one that is",
      ],
      [
        'an output name with a line end',
        ': >"$2/a\nb"',
        "an output file of the import script has a line break in its name: U+000A at position 2: 'a\\nb'",
      ],
    ] as const
  ).map(
    ([what, text, message]): Row => ({
      what,
      call: 'import',
      scripts: { dataCleaning: text },
      status: 555,
      json: { script: /dataCleaning\.sh$/, 'exit-code': 0, message },
    }),
  ),
];

t.test('each failure of a script has its answer, and leaves nothing behind', async (t) => {
  const host = await scriptedHost(t, {
    hasty: () => ({ maxDurationMs: 200 }),
    absent: ({ path }) => ({ path: `${path}.absent` }),
    forbidden: ({ path }) => ({ path: `${path}.forbidden` }),
  });
  for (const { path } of Object.values(host.scripts)) {
    await writeFile(`${path}.forbidden`, '#!/bin/sh\n');
    await chmod(`${path}.forbidden`, 0o644);
  }
  t.equal((await host.call('import', 'warm-up')).status, 200);
  await host.settled(Number.POSITIVE_INFINITY);
  const before = await openDescriptors();
  for (const [i, { what, call, scripts, options, status, json }] of ROWS.entries()) {
    const answer = await host.call(call, `row-${i}`, scripts, options);
    t.match({ status: answer.status, json: answer.json }, { status, ...(json ? { json } : {}) }, `${call}: ${what}`);
    t.equal(answer.scriptRan, status === 503, 'a 503 says that a script ran: its work is undone before a retry');
    t.strictSame(await host.processes(), [], `${call}: ${what}: no process is left`);
    await host.settled(before.length);
  }
  t.equal((await openDescriptors()).length, before.length);
  t.strictSame(await readdir(host.workDir), []);
  t.strictSame(host.host.load, { calls: 0, scripts: 0 });
  const installed = ROWS.flatMap(({ call, status }, i) =>
    call === 'install/data' && status === 200 ? [`row-${i}`] : [],
  );
  t.strictSame((await readdir(host.site)).sort(), installed.sort(), 'only what was installed is there');
});

t.test('processes of a script are seen while it runs, also those that left its group', async (t) => {
  const host = await scriptedHost(t, { hasty: () => ({ maxDurationMs: 2_000 }) });
  const groups = async () => new Set((await host.processes()).map(({ group }) => group));
  // On a machine that stalls a script may be over before anybody looked.
  for (let seen = false; !seen; ) {
    let over = false;
    const call = host.call('import', 'slow', { dataCleaning: 'setsid sleep 600 & exec sleep 600' }, SLOW);
    const calling = call.finally(() => {
      over = true;
    });
    for (; !over && !seen; seen = (await groups()).size === 2) await nextTurn();
    t.equal((await calling).status, 500);
    t.strictSame(await groups(), new Set());
  }
});

t.test('folders in the output are kept', async (t) => {
  const { call } = await scriptedHost(t);
  const { status, body } = await call('import', 'ok', {
    dataCleaning: 'cp -R "$1"/. "$2"/; rm "$2/vdi-meta.json"; rm -rf "$1"; exit 0',
  });
  t.equal(status, 200);
  const dir = t.testdir({ 'reply.zip': body });
  const reply = await unzip(join(dir, 'reply.zip'));
  await writeFile(join(dir, 'data.zip'), reply['data.zip'] ?? '');
  t.strictSame(Object.keys(await unzip(join(dir, 'data.zip'))), ['a.txt', 'sub/b.txt']);
});

t.test('an installation that was left half written is whole after it was tried again', async (t) => {
  const { call, site } = await scriptedHost(t);
  const half = 'mkdir "$DATA_FILES" && echo half >"$DATA_FILES/half" && ';
  for (const end of ['exit 3', 'kill -9 $$', 'exit 99', 'chmod 500 "$DATA_FILES"; exit 1']) {
    const first = await call('install/data', 'half', { dataInstall: half + end });
    t.not(first.status, 200);
    t.strictSame(await readdir(site), [], end);
    t.equal((await call('install/data', 'half', { dataInstall: '' })).status, 200);
    t.strictSame(Object.keys((await readTree(join(site, 'half'))) ?? {}).sort(), [
      'a.txt',
      'sub/b.txt',
      'vdi-meta.json',
    ]);
    t.equal((await call('uninstall', 'half')).status, 200);
  }
});
