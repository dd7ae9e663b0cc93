// Mails of the dataset access service: what to tell whom. Text and addresses are resolved when a mail is sent. A mail address
// is a single one, without a display name and without characters that a mail header could read as several addresses.

import type { AccessRequest, CuratedId } from './access-request.ts';

/** The parts of a request that its mails mention. */
export type ToldRequest = Pick<
  AccessRequest,
  | 'userId'
  | 'purpose'
  | 'researchQuestion'
  | 'analysisPlan'
  | 'disseminationPlan'
  | 'priorAuth'
  | 'denialReason'
  | 'startDate'
>;

type RegisterTemplate = 'provider-register' | 'end-user-register';
type RequestTemplate = 'edit-managers' | 'edit-requester' | 'approved' | 'denied';

export type MailDraft =
  | { readonly template: RegisterTemplate; readonly datasetId: CuratedId; readonly email: string }
  | { readonly template: RequestTemplate; readonly datasetId: CuratedId; readonly request: ToldRequest };

/** Limits for mails that users cause by editing their own requests. */
export const EDIT_MAIL_BOUNDS = {
  /** Between two mails about one request to the same people. */
  periodMs: 3_600_000,
  /** Mails in 24 hours: per author, per dataset (to its managers), and in total (to the support). */
  perAuthor: 40,
  perDataset: 200,
  perService: 1_000,
} as const;

export const isEditMail = (mail: MailDraft): mail is Extract<MailDraft, { readonly request: object }> =>
  mail.template === 'edit-managers' || mail.template === 'edit-requester';

/** A mail about a request in its current state. */
export function requestMail(template: RequestTemplate, request: AccessRequest): MailDraft {
  const { userId, purpose, researchQuestion, analysisPlan, disseminationPlan, priorAuth, denialReason, startDate } =
    request;
  const texts = { purpose, researchQuestion, analysisPlan, disseminationPlan, priorAuth, denialReason };
  return { template, datasetId: request.datasetId, request: { userId, ...texts, startDate } };
}

/** The mails about a decision: none when the status is unchanged or went back to `requested`. */
export function decisionMails(before: AccessRequest, after: AccessRequest): readonly MailDraft[] {
  const status = after.approvalStatus;
  if (before.approvalStatus === status || status === 'requested') return [];
  return [requestMail(status, after)];
}

const EMAIL = /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,250}[\p{L}\p{N}])?$/u;

const ASCII = /^\p{ASCII}$/u;

export const isEmail = (text: string): boolean => EMAIL.test(text) && addressKey(text) !== undefined;

/**
 * The form in which addresses are compared: NFC, with ASCII letters in lower case. Other letters keep their case, because case
 * rules merge different letters: U+212A, the Kelvin sign, would become a k. For the same reason an address with a character
 * that NFC turns into an ASCII one is undefined; it equals no other.
 */
export function addressKey(address: string): string | undefined {
  if (!address.isWellFormed()) return undefined;
  for (const character of address)
    if (!ASCII.test(character) && ASCII.test(character.normalize('NFC'))) return undefined;
  return address.normalize('NFC').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
