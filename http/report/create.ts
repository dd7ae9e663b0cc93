// POST /jobs: requests a report. Equal requests share one job, whoever makes them.

import { isObject } from '../../engine/model/json.ts';
import {
  BLAST_CONFIG_SCHEMA,
  type BlastConfig,
  checkCombination,
  checkProgram,
  type FaultSink,
  type ResolvedConfig,
  resolveConfig,
} from '../../engine/model/report/blast-config.ts';
import { FORMAT_TYPE_NAMES, type FormatType } from '../../engine/model/report/format-types.ts';
import { parseQueryJobId, type QueryJob } from '../../engine/model/report/query-job.ts';
import { reportJobId } from '../../engine/model/report/report-job.ts';
import type { QueryJobs, ReportLink } from '../../engine/ports/report-jobs.ts';
import { jsonBody, type ReadBody } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import type { Faults } from '../kernel/input/faults.ts';
import { compileSchema } from '../kernel/input/json-schema.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { tooMany, unavailable } from '../kernel/pipeline/errors.ts';
import type { Created } from '../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { callersCollection, type LookupParts, now } from './job-lookup.ts';
import { CreateChecks, CreateRequest, CreateResponse, givenMeta } from './schema.ts';

interface ReportLimits {
  /** Most jobs that may wait. */
  readonly maxQueued: number;
  /** Most waiting jobs of a user, or of all guests of one address. */
  readonly maxQueuedPerUser: number;
  /** Milliseconds after which the same request retries a failed job. */
  readonly retryAfterMs: number;
}

export interface CreateParts extends LookupParts {
  readonly queries: Pick<QueryJobs, 'find'>;
  readonly limits: ReportLimits;
}

const RETRY_SECONDS = 30;

/** The error when the queue is full. */
export const queueIsFull = ({ maxQueued }: ReportLimits): Error =>
  unavailable(`${maxQueued} report jobs wait already; try again later`, RETRY_SECONDS);

/** The error when the caller's share of the queue is used up. */
export const shareIsFull = ({ maxQueuedPerUser }: ReportLimits, { caller }: Pick<RequestContext, 'caller'>): Error => {
  const whose = caller.kind === 'user' ? 'your' : "your address's";
  return tooMany(`${maxQueuedPerUser} of ${whose} report jobs wait, which is the most allowed at once`, RETRY_SECONDS);
};

/** The rules for queueing a job. */
export const queueRules = (context: RequestContext, { limits, ...parts }: CreateParts) => ({
  now: now(parts),
  maxQueued: limits.maxQueued,
  maxQueuedPerTenant: limits.maxQueuedPerUser,
  tenant: context.tenant,
  traceparent: context.traceparent,
});

export function createRoute(parts: CreateParts): Route {
  const readBody = jsonBody(CreateChecks);
  const readConfig = blastConfigReader();
  return {
    method: 'POST',
    path: '/jobs',
    access: 'user-or-guest',
    keyed: true,
    operationId: 'createReportJob',
    summary: 'Requests a report of a query job; identical requests share one job',
    body: {
      description: 'Query job and format options',
      content: { 'application/json': { ...CreateRequest } },
    },
    responses: {
      200: answer('The job is there', CreateResponse),
      ...refusals({
        400: 'The body is not a JSON object, or larger than 512 KiB',
        415: 'The body is not JSON',
        422: 'Values are not accepted, or the query job is none that can be formatted',
        429: 'Too many jobs of the caller wait',
      }),
    },
    handler: async (context) => {
      const read = await readBody(context.request);
      await context.onceFor(read.given, () => create(context, read, readConfig, parts));
    },
  };
}

async function create(
  context: RequestContext,
  { given, faults }: ReadBody,
  readConfig: BlastConfigReader,
  parts: CreateParts,
): Promise<Created> {
  const { jobs, limits, queries } = parts;
  const { signal } = context;
  const configuration = readConfig(given.blastConfig, faults);
  const query = await findQuery(given.queryJobID, queries, faults, signal);
  const formatType = configuration?.formatType ?? askedType(given.blastConfig);
  if (query && formatType) checkProgram(formatType, query.program, faults);
  if (!faults.empty || !configuration || !query) throw faults.refusal();
  const { id: queryId, fingerprint } = query;
  const id = reportJobId(configuration, query);
  const link: ReportLink | undefined =
    given.addToUserCollection === false
      ? undefined
      : { user: callersCollection(context), meta: givenMeta(given.userMeta) };
  const common = queueRules(context, parts);
  const rules = { ...common, failedBefore: new Date(common.now.getTime() - limits.retryAfterMs) };
  const submission = await jobs.submit({ id, queryId, configuration, fingerprint }, link, rules, signal);
  if (submission === 'full') throw queueIsFull(limits);
  if (submission === 'share-full') throw shareIsFull(limits, context);
  if (submission === 'queued') context.log.info({ report: id, query: queryId }, 'report queued');
  context.concerns({ records: { id } });
  return { code: 200, body: { reportJobID: id } };
}

/** Finds a query job whose result can be formatted. If there is none, adds a fault and returns undefined. */
async function findQuery(
  given: unknown,
  queries: Pick<QueryJobs, 'find'>,
  faults: Faults,
  signal: AbortSignal,
): Promise<QueryJob | undefined> {
  // The schema has already reported a value that is missing or not a string.
  if (typeof given !== 'string') return undefined;
  const path = ['queryJobID'];
  const id = parseQueryJobId(given);
  if (!id) {
    faults.add(path, `is ${describeValue(given)}; 32 hexadecimal digits are required`);
    return undefined;
  }
  const query = await queries.find(id, signal);
  if (query?.status === 'complete') return query;
  faults.add(path, query ? `is a query job that is ${query.status}; a complete one is required` : 'is no query job');
  return undefined;
}

/** The format type of a configuration that has faults, so that we can also report whether it fits the query job. */
function askedType(config: unknown): FormatType | undefined {
  const asked = typeof config === 'object' && config !== null && 'formatType' in config ? config.formatType : undefined;
  return FORMAT_TYPE_NAMES.find((name) => name === asked);
}

// Checks the field `blastConfig` of a request: first each value against the schema, then the combination of values.

const FIELD = 'blastConfig';

/**
 * Returns the resolved configuration, or undefined after adding faults below `blastConfig`. If the value is null or absent, the
 * report is pairwise. A field that is null counts as absent (docs/contract/report.md#blast-config).
 */
type BlastConfigReader = (value: unknown, faults: FaultSink) => ResolvedConfig | undefined;

export function blastConfigReader(): BlastConfigReader {
  const check = compileSchema({ type: 'object', properties: { [FIELD]: BLAST_CONFIG_SCHEMA } });
  return (value, faults) => {
    const config = withoutNulls(value ?? {});
    let sound = true;
    const sink: FaultSink = {
      add: (path, sentence) => {
        sound = false;
        faults.add(path, sentence);
      },
    };
    check({ [FIELD]: config }, sink);
    if (isObject(config)) checkCombination(config, sink);
    return sound ? resolveConfig(config as BlastConfig) : undefined;
  };
}

const withoutNulls = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) : value;
