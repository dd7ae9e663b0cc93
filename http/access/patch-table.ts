// What may be changed of an access request, by whom and how (docs/contract/access.md#patches), as data: the contract's
// table row by row.

import { mayBecome, NO_END, REQUEST_STATUSES, type RequestTerms } from '../../engine/model/access-request.ts';
import { RESTRICTION_LEVELS } from '../../engine/model/access-rights.ts';
import { characterFault } from '../kernel/input/characters.ts';
import { describeValue, quote } from '../kernel/input/describe.ts';
import { parseDate } from './dates.ts';
import { MAX_TEXT } from './schema.ts';

export type PatchOperation = 'add' | 'remove' | 'replace';
/** `governor`: site owners and managers of the dataset. `requester`: the person whose request it is. */
export type PatchRole = 'governor' | 'requester';

/** The terms with the value set, or a sentence that says what is wrong with it. */
type SetValue = (value: unknown, terms: RequestTerms) => RequestTerms | string;

export interface PathRule {
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
    : `is ${describeValue(value)}; allowed are ${RESTRICTION_LEVELS.map(quote).join(', ')}`;
};

const setStatus: SetValue = (value, terms) => {
  const status = REQUEST_STATUSES.find((one) => one === value);
  if (!status) return `is ${describeValue(value)}; allowed are ${REQUEST_STATUSES.map(quote).join(', ')}`;
  if (mayBecome(terms.approvalStatus, status)) return { ...terms, approvalStatus: status };
  return `is ${describeValue(value)}; a request that is ${terms.approvalStatus} cannot become that`;
};

export const PATCH_TABLE: ReadonlyMap<string, PathRule> = new Map<string, PathRule>([
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
