// Mails of the dataset access service: what to tell whom. Text and addresses are resolved when a mail is sent.

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

export type RegisterTemplate = 'provider-register' | 'end-user-register';
export type RequestTemplate = 'edit-managers' | 'edit-requester' | 'approved' | 'denied';

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
