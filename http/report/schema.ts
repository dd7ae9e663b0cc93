// The schemas of requests and responses of the report job service (docs/contract/report.md). The `...Checks` schemas check
// bodies as far as a schema can; the others describe them.

import type { TSchema } from 'typebox';
import { BLAST_CONFIG_SCHEMA } from '../../engine/model/report/blast-config.ts';
import { DEFAULT_FORMAT_TYPE } from '../../engine/model/report/format-types.ts';
import { REPORT_STATUSES, SUMMARY_CHARACTERS, type UserMetaChange } from '../../engine/model/report/report-job.ts';
import { withoutNulls } from '../kernel/bodies/body.ts';
import { Type } from '../kernel/openapi/schema-node.ts';

const CLOSED = { additionalProperties: false } as const;

/** Most ids in one request for statuses. */
export const MAX_IDS = 10_000;

/** Requests may use either case; responses use lower case. */
const JobId = Type.String({ minLength: 32, maxLength: 32, pattern: '^[\\dA-Fa-f]{32}$' });
const Status = Type.Enum([...REPORT_STATUSES], { title: 'ReportStatus' });
const ResolvedBlastConfig = Type.Unsafe({
  ...BLAST_CONFIG_SCHEMA,
  required: ['formatType'],
  title: 'ResolvedBlastConfig',
});

const UserMeta = Type.Named(
  'UserMeta',
  {
    summary: Type.Optional(Type.String({ maxLength: SUMMARY_CHARACTERS, description: 'One line' })),
    description: Type.Optional(Type.String({ description: 'Of any length' })),
  },
  CLOSED,
);

const orNull = (schema: TSchema): TSchema => Type.Optional(Type.Union([schema, Type.Null()]));

/** The schema that checks the body. The id and the configuration are checked in detail elsewhere (create.ts). */
export const CreateChecks = Type.Object(
  {
    queryJobID: Type.String(),
    blastConfig: Type.Optional(Type.Unknown()),
    addToUserCollection: Type.Optional(Type.Boolean()),
    userMeta: Type.Optional(UserMeta),
  },
  CLOSED,
);

export const CreateRequest = Type.Named(
  'CreateRequest',
  {
    queryJobID: JobId,
    blastConfig: Type.Optional(Type.Unsafe({ ...BLAST_CONFIG_SCHEMA, default: { formatType: DEFAULT_FORMAT_TYPE } })),
    addToUserCollection: Type.Optional(Type.Boolean({ default: true })),
    userMeta: Type.Optional(UserMeta),
  },
  CLOSED,
);
export const CreateResponse = Type.Named('CreateResponse', { reportJobID: JobId });

export const PatchChecks = Type.Object({ userMeta: Type.Optional(UserMeta) }, CLOSED);

export const PatchRequest = Type.Named(
  'PatchRequest',
  {
    userMeta: orNull(
      Type.Object({
        summary: orNull(Type.String({ maxLength: SUMMARY_CHARACTERS })),
        description: orNull(Type.String()),
      }),
    ),
  },
  CLOSED,
);

export const JobList = Type.Array(
  Type.Object({ reportJobID: JobId, queryJobID: JobId, status: Status, userMeta: Type.Optional(UserMeta) }),
);

export const JobDetails = Type.Named('JobDetails', {
  reportJobID: JobId,
  queryJobID: JobId,
  status: Status,
  blastConfig: ResolvedBlastConfig,
  userMeta: Type.Optional(UserMeta),
});

export const FileList = Type.Array(
  Type.Object({ name: Type.String(), size: Type.Integer({ format: 'int64', minimum: 0, description: 'Bytes' }) }),
);

export const StatusesRequest = Type.Array(Type.String(), { maxItems: MAX_IDS });
export const Statuses = Type.Record(Type.String(), Status);

const GuestId = Type.Unsafe<string>({ type: 'integer', format: 'int64', minimum: 1 });
export const LinkGuestChecks = Type.Object(
  { guestToken: Type.String(), guestID: Type.Optional(Type.Unknown()) },
  CLOSED,
);
export const LinkGuestRequest = Type.Named(
  'LinkGuestRequest',
  { guestToken: Type.String(), guestID: Type.Optional(GuestId) },
  CLOSED,
);

export const BrokenJobs = Type.Array(
  Type.Object({
    reportJobID: JobId,
    rawConfig: Type.Object({ queryJobID: JobId, blastConfig: ResolvedBlastConfig }),
    createdOn: Type.String({ format: 'date-time' }),
    failedOn: Type.String({ format: 'date-time' }),
    reason: Type.String(),
  }),
);

// The notes of users about jobs, as in request bodies. A null field counts as absent, except in a patch, where null clears it.

/** The notes in a checked body, without nulls. */
export const givenMeta = (value: unknown): UserMetaChange => withoutNulls(metaOf(value)) as UserMetaChange;

/** The notes as a change. Null clears one of the notes, or all of them. */
export const changedMeta = (value: unknown): UserMetaChange =>
  value === null ? { summary: null, description: null } : metaOf(value);

const metaOf = (value: unknown): UserMetaChange => (typeof value === 'object' && value !== null ? value : {});
