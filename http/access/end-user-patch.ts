// Applies a patch to an access request: checks first whether each item is allowed, then whether its value is. The table of
// paths below has who may change what, and how (docs/contract/access.md#patches).

import { isDeepStrictEqual } from 'node:util';
import { decisionMails, requestMail } from '../../engine/model/access-mail.ts';
import {
  type AccessRequest,
  mayBecome,
  NO_END,
  REQUEST_STATUSES,
  RESTRICTION_LEVELS,
  type RequestTerms,
  settleTerms,
} from '../../engine/model/access-request.ts';
import type { RequestChange } from '../../engine/ports/access-requests.ts';
import { describeValue, quote } from '../kernel/input/describe.ts';
import { Faults } from '../kernel/input/faults.ts';
import { characterFault } from '../kernel/input/json-schema.ts';
import { forbidden } from '../kernel/pipeline/errors.ts';
import { MAX_TEXT, type PatchItem, parseDate } from './bodies.ts';

type PatchOperation = 'add' | 'remove' | 'replace';
/** `governor`: site owners and managers of the dataset. `requester`: the person whose request it is. */
type PatchRole = 'governor' | 'requester';

/** The terms with the value set, or a sentence that says what is wrong with it. */
type SetValue = (value: unknown, terms: RequestTerms) => RequestTerms | string;

interface PathRule {
  readonly operations: readonly PatchOperation[];
  /** The requester may while the status is `requested`; governors always may. */
  readonly roles: readonly PatchRole[];
  readonly set: SetValue;
  readonly remove?: (terms: RequestTerms, now: Date) => RequestTerms;
}

type TextField = 'purpose' | 'researchQuestion' | 'analysisPlan' | 'disseminationPlan' | 'priorAuth' | 'denialReason';

const ANY: readonly PatchOperation[] = ['add', 'remove', 'replace'];
const REPLACE: readonly PatchOperation[] = ['replace'];
const GOVERNORS: readonly PatchRole[] = ['governor'];
const BOTH: readonly PatchRole[] = ['governor', 'requester'];

const setText =
  (field: TextField): SetValue =>
  (value, terms) => {
    if (typeof value !== 'string') return `is ${describeValue(value)}; text is required`;
    if ([...value].length > MAX_TEXT) return `has ${[...value].length} characters; at most ${MAX_TEXT} are allowed`;
    return characterFault(value, true) ?? { ...terms, [field]: value };
  };

const ownText = (field: TextField): PathRule => ({ operations: REPLACE, roles: BOTH, set: setText(field) });

const setStart: SetValue = (value, terms) => {
  const startDate = typeof value === 'string' ? parseDate(value) : undefined;
  return startDate ? { ...terms, startDate } : `is ${describeValue(value)}; a date and time of ISO 8601 is required`;
};

const setDuration: SetValue = (value, terms) =>
  Number.isSafeInteger(value)
    ? { ...terms, durationDays: value as number }
    : `is ${describeValue(value)}; a whole number of days is required`;

const setLevel: SetValue = (value, terms) => {
  const level = RESTRICTION_LEVELS.find((one) => one === value);
  return level
    ? { ...terms, restrictionLevel: level }
    : `is ${describeValue(value)}; allowed: ${RESTRICTION_LEVELS.map(quote).join(', ')}`;
};

const setStatus: SetValue = (value, terms) => {
  const status = REQUEST_STATUSES.find((one) => one === value);
  if (!status) return `is ${describeValue(value)}; allowed: ${REQUEST_STATUSES.map(quote).join(', ')}`;
  if (mayBecome(terms.approvalStatus, status)) return { ...terms, approvalStatus: status };
  return `is ${describeValue(value)}; a request that is ${terms.approvalStatus} cannot become that`;
};

const PATCH_TABLE: ReadonlyMap<string, PathRule> = new Map<string, PathRule>([
  [
    '/startDate',
    { operations: ANY, roles: GOVERNORS, set: setStart, remove: (terms, now) => ({ ...terms, startDate: now }) },
  ],
  [
    '/duration',
    { operations: ANY, roles: GOVERNORS, set: setDuration, remove: (terms) => ({ ...terms, durationDays: NO_END }) },
  ],
  ['/restrictionLevel', { operations: REPLACE, roles: GOVERNORS, set: setLevel }],
  ['/purpose', ownText('purpose')],
  ['/researchQuestion', ownText('researchQuestion')],
  ['/analysisPlan', ownText('analysisPlan')],
  ['/disseminationPlan', ownText('disseminationPlan')],
  ['/priorAuth', ownText('priorAuth')],
  // As the contract's table writes it.
  ['priorAuth', ownText('priorAuth')],
  ['/approvalStatus', { operations: REPLACE, roles: GOVERNORS, set: setStatus }],
  [
    '/denialReason',
    {
      operations: ANY,
      roles: GOVERNORS,
      set: setText('denialReason'),
      remove: (terms) => ({ ...terms, denialReason: '' }),
    },
  ],
]);

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
