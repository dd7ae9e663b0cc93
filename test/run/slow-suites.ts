// The suites that are too slow for every landing. A landing runs those that its change touches, as far as they fit into
// its time, and one of them by turn when it touches none. `npm run test:full` runs all of them.

import type { Step } from './steps.ts';

export interface SlowSuite extends Step {
  /** Measured on two cores with other work beside it: the most that a landing has to reckon with. */
  readonly seconds: number;
  /** A change of a file whose path begins with one of these runs the suite, and so does a change of its own tests. */
  readonly touchedBy: readonly string[];
  /** No landing has the time for it, whatever its change touches. */
  readonly fullOnly?: boolean;
}

/** What a landing may spend on them. */
export const SLOW_SECONDS = 240;

/** All but the server whose compilation takes minutes. */
const INSTALL = 'node test/stack/install.ts --without minio';
/** Of the suite of that name: these files alone. */
const some = (suite: string, names: readonly string[]): string =>
  `node test/run/suite.ts --suite ${suite} ${names.map((name) => `test/${suite}/${name}.test.ts`).join(' ')}`;
const e2e = (...names: readonly string[]): string => some('e2e', names);
const browser = (...names: readonly string[]): string => `node test/browser/install.ts && ${some('browser', names)}`;
const stack = (...names: readonly string[]): string => `${INSTALL} && ${some('stack', names)}`;

export const SLOW_SUITES: readonly SlowSuite[] = [
  {
    name: 'e2e start',
    run: e2e(
      'command-line',
      'demo',
      'doctor',
      'late-dependencies',
      'ports-in-use',
      'readme',
      'reload',
      'secrets',
      'serve',
      'typescript-client',
    ),
    seconds: 85,
    touchedBy: [
      'bin/cli/',
      'bin/commands/',
      'bin/compose/',
      'clients/',
      'config/',
      'engine/adapters/embedded-postgres/',
      'engine/runtime/log',
    ],
  },
  {
    name: 'e2e failures',
    run: e2e('history', 'problems', 'true-signals'),
    seconds: 120,
    touchedBy: [
      'actors/jobs/',
      'actors/daemons/second-chance',
      'engine/adapters/jobs/',
      'engine/runtime/owner-text',
      'http/installer/admin/',
      'bin/commands/problems',
      'bin/commands/history',
    ],
  },
  {
    name: 'e2e backup',
    run: e2e('backup', 'backup-serve'),
    seconds: 150,
    touchedBy: [
      'bin/cli/backup/',
      'bin/commands/backup.ts',
      'bin/compose/data-dir.ts',
      'bin/compose/named-databases.ts',
      'engine/adapters/directory/',
      'engine/adapters/embedded-postgres/',
      'engine/adapters/postgres/',
      'http/installer/admin/store-hold.ts',
    ],
  },
  {
    name: 'e2e datasets',
    run: e2e(
      'create-faults',
      'digests',
      'edits-at-once',
      'files',
      'idempotency',
      'revise',
      'revisions',
      'upload-by-url',
    ),
    seconds: 75,
    touchedBy: ['http/installer/', 'actors/lanes/', 'actors/tasks/', 'actors/dataset/'],
  },
  {
    name: 'e2e compatibility',
    run: e2e('compatibility'),
    seconds: 20,
    touchedBy: [
      'http/installer/',
      'http/access/',
      'http/kernel/pipeline/context',
      'http/kernel/pipeline/answer-error',
      'test/compatibility/',
    ],
  },
  {
    name: 'e2e crash',
    run: e2e(
      'api-clear-failed',
      'compatible-plugins',
      'crash-under-load',
      'hung-plugin',
      'install-retry',
      'pause-and-cancel',
      'rebuild',
      'shared-data',
    ),
    seconds: 230,
    touchedBy: [
      'actors/lanes/',
      'actors/pauses/',
      'actors/reconcil',
      'actors/plugins/',
      'actors/jobs/',
      'engine/adapters/jobs/',
    ],
  },
  {
    name: 'e2e services',
    run: e2e('access', 'access-mail', 'handler', 'handler-many-jobs', 'report'),
    seconds: 70,
    touchedBy: [
      'http/access/',
      'http/handler/',
      'http/report/',
      'actors/handler/',
      'actors/report/',
      'actors/daemons/access',
    ],
  },
  {
    name: 'webhooks',
    run: e2e('webhooks'),
    seconds: 40,
    touchedBy: ['actors/webhooks/', 'engine/adapters/remote/', 'engine/adapters/webhooks/', 'http/installer/webhooks/'],
  },
  {
    name: 'memory',
    run: 'npm run --silent test:memory',
    seconds: 150,
    touchedBy: ['engine/archive/', 'http/kernel/bodies/multipart', 'http/kernel/answers/download', 'actors/tasks/'],
  },
  {
    name: 'attack memory',
    run: some('attack', [
      'large-heads',
      'large-lists',
      'large-texts',
      'one-user-floods',
      'pipelined-answers',
      'silent-connections',
      'slow-readers',
    ]),
    seconds: 190,
    touchedBy: ['http/', 'engine/adapters/postgres/row-', 'bin/compose/front-end'],
  },
  {
    name: 'attack',
    run: some('attack', [
      'admin-guesses',
      'admin-listener',
      'audit',
      'caller-claims',
      'full-disk',
      'hidden-characters',
      'many-entries',
      'odd-paths',
      'operator-claims',
      'option-values',
      'private-files',
      'protected-files',
      'script-surroundings',
      'search-leaks',
      'two-tokens',
    ]),
    seconds: 130,
    touchedBy: [
      'http/',
      'engine/archive/',
      'bin/compose/front-end',
      'bin/compose/access-service',
      'bin/compose/handler',
      'bin/compose/report-service',
    ],
  },
  {
    name: 'binary',
    run: 'npm run --silent test:binary',
    seconds: 430,
    touchedBy: ['bin/build/', 'package', 'config/deploy/', 'test/binary/'],
  },
  {
    name: 's3',
    run: stack('s3', 's3-faults', 's3-memory', 's3-notifications', 's3-objects', 's3-upload-bytes'),
    seconds: 90,
    touchedBy: ['engine/adapters/s3/', 'engine/ports/object-store', 'test/conformance/object-store'],
  },
  {
    name: 's3 minio',
    run: `node test/stack/install.ts && ${some('stack', ['s3-minio', 's3-notifications-minio', 'full-stack-minio'])}`,
    // With its compilation, on a machine that never did it.
    seconds: 400,
    fullOnly: true,
    touchedBy: ['engine/adapters/s3/', 'engine/ports/object-store', 'test/conformance/object-store'],
  },
  {
    name: 'kafka',
    run: stack('kafka', 'kafka-client', 'kafka-cluster', 'kafka-commits', 'kafka-conformance', 'kafka-readers'),
    seconds: 90,
    touchedBy: ['engine/adapters/kafka/', 'engine/ports/event-log', 'test/conformance/event-log'],
  },
  {
    name: 'kafka outages',
    run: stack('kafka-outage'),
    seconds: 120,
    touchedBy: ['engine/adapters/kafka/', 'actors/events/'],
  },
  {
    name: 'rabbitmq',
    run: stack('rabbitmq'),
    seconds: 46,
    touchedBy: ['engine/adapters/rabbit/', 'engine/ports/event-log', 'test/conformance/change-queue'],
  },
  {
    name: 'mariadb',
    run: stack('mariadb', 'mariadb-conformance', 'mariadb-doctor', 'mariadb-samples', 'mixed-targets'),
    seconds: 120,
    touchedBy: [
      'engine/adapters/mariadb/',
      'engine/adapters/migrations/control-mariadb/',
      'engine/adapters/sites/',
      'engine/ports/install-target',
      'test/conformance/control-schema',
      'test/conformance/install-target',
      'bin/compose/mariadb',
      'bin/compose/target',
      'config/samples/row',
    ],
  },
  {
    name: 'full stack',
    run: stack(
      'config-init',
      'doctor',
      'first-plugin',
      'full-stack',
      'install',
      'listeners',
      'migrating',
      'postgres-tls',
      'proxy',
      'slapd',
    ),
    seconds: 175,
    touchedBy: [
      'bin/compose/',
      'bin/cli/config-init/',
      'bin/cli/doctor/',
      'config/samples/',
      'docs/migrating',
      'docs/first-plugin',
      'engine/adapters/ldap/',
    ],
  },
  {
    name: 'foreign tables',
    run:
      `${INSTALL} python3 python3-venv biom-format && LONGSHORE_FOREIGN_TABLES=500 node test/run/suite.ts --suite stack ` +
      'test/stack/biom-format.test.ts test/config/samples/foreign-tables.test.ts',
    seconds: 60,
    touchedBy: ['config/samples/', 'test/config/samples/foreign/'],
  },
  {
    name: 'upload clients',
    run: `${INSTALL} curl chromium default-jdk-headless python3 python3-venv http-clients && ${some('stack', ['upload-clients'])}`,
    seconds: 100,
    touchedBy: [
      'http/kernel/bodies/multipart',
      'http/kernel/bodies/part-head',
      'engine/model/file-name',
      'test/stack/clients/',
    ],
  },
  {
    name: 'resumable uploads',
    run: `${e2e('resumable-cuts')} && ${stack('tus-clients', 'resumable-cuts-s3')}`,
    seconds: 150,
    touchedBy: [
      'http/installer/uploads/',
      'engine/adapters/directory/directory-upload',
      'engine/adapters/s3/',
      'engine/adapters/uploads/',
      'bin/cli/client/',
      'test/stack/tus-clients/',
    ],
  },
  {
    name: 'event streams',
    run: e2e('event-streams'),
    seconds: 60,
    touchedBy: [
      'http/installer/events/',
      'http/kernel/server/',
      'engine/adapters/datasets/dataset-events',
      'engine/adapters/migrations/cache/',
      'actors/lanes/',
    ],
  },
  {
    name: 'python client',
    run: `${INSTALL} python3 python3-venv python-client && ${some('stack', ['python-client'])}`,
    seconds: 60,
    touchedBy: ['clients/python/', 'http/installer/', 'http/kernel/openapi/'],
  },
  {
    name: 'fuzzed documents',
    // Without its build, the console is a 503.
    run: `npm run --silent prepare && ${INSTALL} python3 python3-venv schemathesis && ${some('stack', ['fuzz-documents'])}`,
    seconds: 130,
    touchedBy: ['http/kernel/openapi/', 'http/kernel/input/', 'test/stack/fuzz-documents'],
  },
  {
    name: 'blast runs',
    run: stack('blast-database', 'query-run', 'report-memory', 'report-readme', 'report-run'),
    seconds: 190,
    touchedBy: ['actors/report/', 'http/report/', 'bin/cli/query-run', 'engine/adapters/blast/'],
  },
  {
    name: 'blast formats',
    run: stack('blast-options', 'report-faults', 'report-formats'),
    seconds: 190,
    touchedBy: ['actors/report/formatter', 'engine/model/report/', 'engine/adapters/report/'],
  },
  {
    name: 'archives',
    run: stack('archives'),
    seconds: 60,
    touchedBy: ['engine/archive/', 'engine/model/file-name', 'engine/model/utf8'],
  },
  {
    name: 'terminal',
    run: stack('shells', 'terminal'),
    seconds: 67,
    touchedBy: ['bin/cli/terminal/', 'bin/cli/top/', 'bin/cli/client/', 'bin/commands/completion.ts'],
  },
  {
    name: 'scale-out',
    run: 'npm run --silent test:scale-out -- --datasets 150 --kills 3 --every 10 --outages --away 5 --throughput 0',
    seconds: 212,
    touchedBy: [
      'engine/adapters/postgres/lease',
      'engine/adapters/jobs/',
      'engine/runtime/supervisor',
      'test/stack/scale-out/',
    ],
  },
  {
    name: 'observability',
    run: 'npm run --silent test:observability',
    seconds: 180,
    touchedBy: [
      ...[
        'engine/runtime/metrics',
        'http/kernel/pipeline/ops',
        'config/deploy/',
        'docs/runbooks',
        'test/observability/',
      ],
    ],
  },
  {
    name: 'documents',
    run: 'npm run --silent test:documents',
    seconds: 60,
    touchedBy: ['http/', 'test/documents/'],
  },
  {
    name: 'browser',
    run: browser(
      'api-page',
      'console/access',
      'console/account',
      'console/audit',
      'console/configuration',
      'console/dataset',
      'console/datasets',
      'console/lanes',
      'console/oidc',
      'console/plots',
      'console/problems',
      'console/refusals',
      'console/reports',
      'console/upload',
    ),
    seconds: 150,
    touchedBy: [
      'clients/console/',
      'engine/model/report/',
      'http/installer/console/',
      'http/kernel/openapi/openapi',
      'http/kernel/openapi/api-',
      'http/kernel/openapi/scalar/',
      'test/browser/',
    ],
  },
  {
    name: 'browser stories',
    run: browser('console/long-visit', 'console/many-rows', 'console/operator-story', 'console/scientist-story'),
    seconds: 400,
    fullOnly: true,
    touchedBy: ['clients/console/'],
  },
];

export interface Choice {
  readonly chosen: readonly SlowSuite[];
  /** Touched, but there was no time for them: `test:full` runs them. */
  readonly left: readonly SlowSuite[];
}

/** `turn` says which suite begins: whoever is left out of one landing comes early in another. */
export function chooseSlow(
  suites: readonly SlowSuite[],
  changed: readonly string[],
  turn: number,
  seconds: number,
): Choice {
  const candidates = suites.filter(({ fullOnly }) => !fullOnly);
  const at = turn % candidates.length;
  const inTurn = [...candidates.slice(at), ...candidates.slice(0, at)];
  const isTouched = ({ run, touchedBy }: SlowSuite): boolean =>
    changed.some((file) => run.split(' ').includes(file) || touchedBy.some((start) => file.startsWith(start)));
  const touched = inTurn.filter(isTouched);
  const chosen: SlowSuite[] = touched.length === 0 ? inTurn.slice(0, 1) : [];
  let spent = 0;
  for (const suite of touched) {
    if (chosen.length > 0 && spent + suite.seconds > seconds) continue;
    chosen.push(suite);
    spent += suite.seconds;
  }
  return { chosen, left: suites.filter((suite) => isTouched(suite) && !chosen.includes(suite)) };
}
