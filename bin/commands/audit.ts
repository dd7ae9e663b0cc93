// `longshore audit export`: prints the audit trail as JSON lines, oldest first.

import { AUDIT_OUTCOMES } from '../../engine/model/audit.ts';
import { parse } from '../cli/arguments.ts';
import { ADMIN_OPTIONS, ADMIN_USAGE, openAdminClient } from '../cli/client/client-options.ts';
import { type Command, EXIT, UsageError } from '../cli/command.ts';

const FILTERS = {
  from: { type: 'string' },
  to: { type: 'string' },
  actor: { type: 'string' },
  dataset: { type: 'string' },
  route: { type: 'string' },
  outcome: { type: 'string', values: AUDIT_OUTCOMES },
} as const;
const OPTIONS = { ...ADMIN_OPTIONS, ...FILTERS } as const;
const NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

export const audit: Command = {
  name: 'audit',
  usage:
    'longshore audit export [--from D] [--to D] [--actor ID] [--dataset ID] [--route PATTERN] ' +
    `[--outcome ${AUDIT_OUTCOMES.join('|')}]  ${ADMIN_USAGE}`,
  options: OPTIONS,
  words: ['export'],
  async run(args, io) {
    const { values, positionals } = parse(args, OPTIONS);
    if (positionals.length !== 1 || positionals[0] !== 'export')
      throw new UsageError(`'${positionals.join(' ')}': expected 'export' and no other arguments`);
    const filter = Object.fromEntries(
      NAMES.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
    );
    const client = await openAdminClient(values, io);
    for await (const lines of client.audit(filter, io.signal)) io.out(lines);
    return EXIT.ok;
  },
};
