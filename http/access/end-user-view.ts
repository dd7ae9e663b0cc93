// An access request as the service shows it.

import type { AccessRequest } from '../../engine/model/access-request.ts';
import type { UserId } from '../../engine/model/ids.ts';
import type { ShownUser } from './people.ts';

export const showRequest = (request: AccessRequest, user: (id: UserId) => ShownUser): object => ({
  user: user(request.userId),
  datasetId: request.datasetId,
  startDate: request.startDate.toISOString(),
  duration: request.durationDays,
  restrictionLevel: request.restrictionLevel,
  purpose: request.purpose,
  researchQuestion: request.researchQuestion,
  analysisPlan: request.analysisPlan,
  disseminationPlan: request.disseminationPlan,
  approvalStatus: request.approvalStatus,
  ...(request.denialReason === '' ? {} : { denialReason: request.denialReason }),
  priorAuth: request.priorAuth,
});

/** Differs after each change, and for a request that was made anew. */
export const requestTag = ({ id, version }: AccessRequest): string => `"${id}.${version}"`;
