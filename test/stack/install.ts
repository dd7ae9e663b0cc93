// Installs the servers and programs that tests start, where they are missing: Debian packages, as root, packages of PyPI and
// Apache Kafka in folders of their own, and programs that Go compiles, which takes minutes. One message tells what cannot be had.
//   node test/stack/install.ts [--without NAME ..] [NAME ..]     all or these, but not those

import { parseArgs } from 'node:util';
import { installDebian } from '../support/debian-packages.ts';
import { demandNone } from '../support/missing.ts';
import { GO_PROGRAMS } from './go-programs.ts';
import { installKafka } from './kafka-jars.ts';
import { DEBIAN, demandNames, PROGRAM_NAMES } from './programs.ts';
import { PYTHON_PACKAGES } from './python-packages.ts';

const options = { without: { type: 'string', multiple: true, default: [] as string[] } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
demandNames('NAME', positionals, PROGRAM_NAMES);
demandNames('--without', values.without, PROGRAM_NAMES);

const isWanted = (name: string): boolean =>
  !values.without.includes(name) && (positionals.length === 0 || positionals.includes(name));
const lacking = [
  ...installDebian(Object.fromEntries(Object.entries(DEBIAN).filter(([, name]) => isWanted(name)))),
  ...(isWanted('kafka') ? installKafka() : []),
  ...[...PYTHON_PACKAGES, ...GO_PROGRAMS].flatMap((program) => (isWanted(program.name) ? program.install() : [])),
];
demandNone(lacking, ['npm run test:stack --', ...values.without].join(' --without '));
