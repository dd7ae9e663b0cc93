// What comes in and goes out of the dataset access service (docs/contract/access.md). A user id is a JSON integer on the wire
// and decimal text in the program, so bodies are checked without it and documented with it.

import type { TObject, TProperties } from 'typebox';
import { APPROVAL_STATUSES, REQUEST_STATUSES } from '../../engine/model/access-request.ts';
import { RESTRICTION_LEVELS } from '../../engine/model/access-rights.ts';
import { UserIdOutput } from '../installer/people.ts';
import { Type } from '../kernel/openapi/schema-node.ts';

const CLOSED = { additionalProperties: false } as const;
/** Characters of one text. */
export const MAX_TEXT = 32_768;
const text = Type.String({ maxLength: MAX_TEXT });
const id = Type.Integer({ format: 'int64', minimum: 1 });
const count = Type.Integer({ format: 'int64', minimum: 0 });
const level = Type.Enum([...RESTRICTION_LEVELS]);

/** The schema of a body as its readers know it. */
export const documented = <Properties extends TProperties>(schema: TObject<Properties>): object => ({
  ...schema,
  properties: { ...schema.properties, userId: { ...UserIdOutput } },
});

export const NewStaff = Type.Object({ userId: Type.Unknown(), isOwner: Type.Boolean() });

export const NewProvider = Type.Object(
  {
    datasetId: Type.String(),
    userId: Type.Optional(Type.Unknown()),
    email: Type.Optional(Type.String()),
    isManager: Type.Boolean(),
  },
  CLOSED,
);

export const NewEndUser = Type.Object(
  {
    userId: Type.Optional(Type.Unknown()),
    email: Type.Optional(Type.String()),
    datasetId: Type.String(),
    purpose: text,
    researchQuestion: text,
    analysisPlan: text,
    disseminationPlan: text,
    priorAuth: text,
    startDate: Type.Optional(Type.String()),
    duration: Type.Optional(Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })),
    restrictionLevel: Type.Optional(level),
    approvalStatus: Type.Optional(Type.Enum([...REQUEST_STATUSES])),
    denialReason: Type.Optional(text),
  },
  CLOSED,
);

export const PatchItems = Type.Array(
  Type.Object({
    op: Type.String(),
    path: Type.String(),
    value: Type.Optional(Type.Unknown()),
    from: Type.Optional(Type.String()),
  }),
);

const User = Type.Object({
  userId: UserIdOutput,
  firstName: Type.String(),
  lastName: Type.String(),
  organization: Type.String(),
  email: Type.String(),
});

const paged = (item: ReturnType<typeof Type.Object>) =>
  Type.Object({ data: Type.Array(item), rows: count, offset: count, total: count });

export const StaffList = paged(Type.Object({ staffId: id, user: User, isOwner: Type.Boolean() }));
export const StaffCreated = Type.Object({ staffId: id });

export const ProviderList = paged(
  Type.Object({ providerId: id, datasetId: Type.String(), user: User, isManager: Type.Boolean() }),
);
export const ProviderCreated = Type.Object({ created: Type.Boolean(), providerId: Type.Optional(id) });

export const EndUser = Type.Object({
  user: User,
  datasetId: Type.String(),
  startDate: Type.Optional(Type.String({ format: 'date-time' })),
  duration: Type.Optional(Type.Integer({ format: 'int64', description: 'Days; -1 = no end' })),
  restrictionLevel: level,
  purpose: Type.String(),
  researchQuestion: Type.String(),
  analysisPlan: Type.String(),
  disseminationPlan: Type.String(),
  approvalStatus: Type.Enum([...APPROVAL_STATUSES]),
  denialReason: Type.Optional(Type.String()),
  priorAuth: Type.String(),
});
export const EndUserList = paged(EndUser);
export const EndUserCreated = Type.Object({ created: Type.Boolean(), endUserId: Type.Optional(Type.String()) });

const Actions = Type.Object({
  studyMetadata: Type.Boolean(),
  subsetting: Type.Boolean(),
  visualizations: Type.Boolean(),
  resultsFirstPage: Type.Boolean(),
  resultsAll: Type.Boolean(),
});

const PermissionEntry = Type.Object({
  studyId: Type.String(),
  sha1Hash: Type.String(),
  displayName: Type.String(),
  shortDisplayName: Type.String(),
  description: Type.String(),
  isUserStudy: Type.Boolean(),
  type: Type.Enum(['provider', 'end-user']),
  actionAuthorization: Actions,
  isManager: Type.Boolean(),
  accessRequestStatus: Type.Enum([...APPROVAL_STATUSES]),
});

export const Permissions = Type.Object({
  isStaff: Type.Optional(Type.Boolean()),
  isOwner: Type.Optional(Type.Boolean()),
  perDataset: Type.Record(Type.String(), PermissionEntry),
});

export const StudyPermission = Type.Object({
  studyId: Type.String(),
  datasetId: Type.String(),
  isUserStudy: Type.Boolean(),
  actionAuthorization: Actions,
});

const inUpperCase = (words: readonly string[]) => Type.Enum(words.map((word) => word.toUpperCase()));

const HistoryUser = Type.Object({
  userID: Type.Unsafe<string>({ type: 'integer', format: 'int64', minimum: 0 }),
  firstName: Type.String(),
  lastName: Type.String(),
  email: Type.String(),
  organization: Type.String(),
});

export const History = Type.Object({
  meta: Type.Object({ rows: count, offset: count }),
  results: Type.Array(
    Type.Object({
      cause: Type.Object({
        user: HistoryUser,
        action: Type.Enum(['CREATE', 'UPDATE', 'DELETE']),
        timestamp: Type.String(),
      }),
      row: Type.Object({
        endUserID: id,
        user: HistoryUser,
        datasetPresenterID: Type.String(),
        restrictionLevel: inUpperCase(RESTRICTION_LEVELS),
        approvalStatus: inUpperCase(REQUEST_STATUSES),
        startDate: Type.String(),
        duration: Type.Integer(),
        purpose: Type.String(),
        researchQuestion: Type.String(),
        analysisPlan: Type.String(),
        priorAuth: Type.String(),
        denialReason: Type.String(),
        dateDenied: Type.Optional(Type.String({ description: 'Absent while not denied' })),
        allowSelfEdits: Type.Boolean(),
      }),
    }),
  ),
});
