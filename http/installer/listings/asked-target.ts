// An install target named in a query.

import type { TargetId } from '../../../engine/model/ids.ts';
import { quote } from '../../kernel/input/describe.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import type { QueryValue } from '../../kernel/pipeline/query.ts';
import type { InstallTargets } from '../service/install-targets.ts';

/** Undefined when none was asked for; 400 when there is no such target. */
export function askedTarget(
  targets: InstallTargets,
  parameter: string,
  asked: QueryValue | undefined,
): TargetId | undefined {
  if (asked === undefined) return undefined;
  const found = targets.find(String(asked));
  if (!found)
    throw badRequest(
      `query parameter '${parameter}' is ${quote(String(asked))}; install targets are ${targets.enabledIds()}`,
    );
  return found.id;
}
