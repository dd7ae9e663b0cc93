// `longshore audit export`: prints the audit trail as JSON lines, oldest first.

import { implement } from '../cli/arguments.ts';
import { openAdminClient } from '../cli/client/client-options.ts';
import { type Command, EXIT } from '../cli/command.ts';
import { AUDIT_EXPORT, AUDIT_FILTERS } from '../cli/tree/administration.ts';

const FILTERS = Object.keys(AUDIT_FILTERS) as readonly (keyof typeof AUDIT_FILTERS)[];

export const exportAudit: Command = implement(AUDIT_EXPORT, async ({ values }, io) => {
  const filter = Object.fromEntries(
    FILTERS.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
  );
  const client = await openAdminClient(values, io);
  for await (const lines of client.audit(filter, io.signal)) io.out(lines);
  return EXIT.ok;
});
