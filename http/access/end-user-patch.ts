// Decides what a patch makes of an access request: first whether each item is allowed, then whether its value is.

import { isDeepStrictEqual } from 'node:util';
import { decisionMails, requestMail } from '../../engine/model/access-mail.ts';
import { type AccessRequest, type RequestTerms, settleTerms } from '../../engine/model/access-request.ts';
import type { RequestChange } from '../../engine/ports/end-users.ts';
import { quote } from '../kernel/input/describe.ts';
import { Faults } from '../kernel/input/faults.ts';
import { forbidden } from '../kernel/pipeline/errors.ts';
import type { PatchItem } from './json-patch.ts';
import { PATCH_TABLE, type PatchRole, type PathRule } from './patch-table.ts';

/**
 * Undefined when nothing is to be changed. Items apply in order. 403 for an operation, path or caller that the table
 * does not have, 422 for values that are not accepted.
 */
export function decidePatch(
  items: readonly PatchItem[],
  before: AccessRequest,
  role: PatchRole,
  now: Date,
): RequestChange | undefined {
  if (role === 'requester' && before.approvalStatus !== 'requested')
    throw forbidden(`an own request may be changed while it is requested; it is ${before.approvalStatus}`);
  const allowed = items.map((item) => ({ item, rule: ruleFor(item, role) }));
  const faults = new Faults();
  let wanted: RequestTerms = before;
  for (const { item, rule } of allowed) wanted = apply(item, rule, wanted, now, faults);
  faults.throwIfAny();
  const terms = settleTerms(before, wanted, now);
  const after = { ...before, ...terms };
  if (isDeepStrictEqual(after, before)) return undefined;
  const own = [requestMail('edit-managers', after), requestMail('edit-requester', after)];
  return { terms, mails: role === 'requester' ? own : decisionMails(before, after) };
}

function ruleFor({ op, path }: PatchItem, role: PatchRole): PathRule {
  const rule = PATCH_TABLE.get(path);
  const known = rule?.operations.some((operation) => operation === op);
  if (!rule || !known) throw forbidden(`${quote(op)} of ${quote(path)} is not accepted`);
  if (!rule.roles.includes(role))
    throw forbidden(`${quote(path)} is changed by site owners and managers of the dataset only`);
  return rule;
}

function apply(item: PatchItem, rule: PathRule, terms: RequestTerms, now: Date, faults: Faults): RequestTerms {
  if (item.op === 'remove' && rule.remove) return rule.remove(terms, now);
  const result = rule.set(item.value, terms);
  if (typeof result !== 'string') return result;
  faults.add([item.path], result);
  return terms;
}
