// POST /admin/rpc/datasets/proxy-upload: an upload on behalf of a user, who need not have an account yet. Rules, limits and
// quota are those of the user's own uploads. The details may also say when the dataset was created
// (docs/contract/installer.md#endpoints).

import { parseUserId, type UserId } from '../../../engine/model/ids.ts';
import { isObject } from '../../../engine/model/json.ts';
import { describeValue } from '../../kernel/input/describe.ts';
import { UserIdOutput } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { badRequest } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { CreateDetails } from '../metadata/create-details.ts';
import type { CheckedDetails } from '../metadata/details-check.ts';
import type { CreateOrder, Creation } from '../uploads/create.ts';
import { Accepted, uploadBody } from '../uploads/upload-intake.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

/** RFC 3339, section 5.6, without leap seconds. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** A dataset of the future would lead every listing until then. Allows for clocks that differ. */
const CLOCKS_DIFFER_MS = 60_000;

export function proxyUploadRoute(creation: Creation): Route {
  return {
    method: 'POST',
    path: '/admin/rpc/datasets/proxy-upload',
    access: 'admin',
    keyed: true,
    operationId: 'uploadForUser',
    summary: 'Uploads a dataset on behalf of a user; `createdOn` in the details sets its creation time',
    headers: {
      'User-ID': { description: 'The user who will own the dataset', required: true, schema: { ...UserIdOutput } },
    },
    body: uploadBody({
      ...CreateDetails,
      title: 'NewDatasetForUser',
      properties: {
        ...CreateDetails.properties,
        createdOn: { ...Datetime, description: 'Creation time, not in the future; defaults to now' },
      },
    }),
    responses: {
      202: answer('Accepted for processing; Location names the dataset', Accepted),
      ...refusals({
        ...ADMIN_REFUSALS,
        400: "The header User-ID is missing or no user id, or the body cannot be used or exceeds a limit or the user's quota",
        409: 'Another request uses one of uploadIds',
        415: 'The body is neither multipart/form-data nor JSON',
        422: 'Metadata, files or URL are not accepted',
        424: 'Nothing can be fetched from the URL',
        429: 'Too many uploads of the user at once',
      }),
    },
    handler: async (context) => {
      const owner = targetUser(context);
      const details = new ProxyDetails(creation.details, creation.now());
      await creation.answer(context, { owner, details, createdMs: () => details.createdMs });
      context.log.info({ owner }, 'upload made by an administrator');
    },
  };
}

function targetUser({ request }: RequestContext): UserId {
  const given = request.headers['user-id'];
  if (given === undefined)
    throw badRequest('the header User-ID is missing; it names the user who will own the dataset');
  const owner = parseUserId(String(given).trim());
  if (!owner) throw badRequest(`the header User-ID is '${String(given).slice(0, 64)}': expected a positive integer`);
  return owner;
}

/** The details of one upload: those that users give, and `createdOn`. */
class ProxyDetails {
  readonly #details: CreateOrder['details'];
  readonly #latestMs: number;
  /** Undefined when the details have no `createdOn`. */
  createdMs: number | undefined;

  constructor(details: CreateOrder['details'], nowMs: number) {
    this.#details = details;
    this.#latestMs = nowMs + CLOCKS_DIFFER_MS;
  }

  check(body: unknown, version: Parameters<CreateOrder['details']['check']>[1]): CheckedDetails {
    if (!isObject(body)) return this.#details.check(body, version);
    const { createdOn, ...rest } = body;
    const { details, faults } = this.#details.check(rest, version);
    // As everywhere in the details, null and blank text count as absent.
    if (createdOn === undefined || createdOn === null || (typeof createdOn === 'string' && createdOn.trim() === ''))
      return { details, faults };
    this.createdMs = typeof createdOn === 'string' ? momentOf(createdOn.trim()) : undefined;
    if (this.createdMs !== undefined && this.createdMs <= this.#latestMs) return { details, faults };
    const needed =
      this.createdMs === undefined
        ? 'a date and time such as 2026-01-02T03:04:05Z is required'
        : 'a dataset cannot have been made later than now';
    faults.add(['createdOn'], `is ${describeValue(createdOn)}; ${needed}`);
    return { details: undefined, faults };
  }
}

/** In ms since 1970; undefined for what is no date and time, such as 30 February, and for years that databases do not have. */
function momentOf(text: string): number | undefined {
  const [, date = '', time = '', , offset = ''] = DATE_TIME.exec(text) ?? [];
  // JavaScript reads 30 February as 2 March.
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== date) return undefined;
  if (time > '23:59:59' || (/\d/.test(offset) && offset.slice(1) > '23:59')) return undefined;
  const ms = Date.parse(text.toUpperCase());
  if (Number.isNaN(ms)) return undefined;
  const year = new Date(ms).getUTCFullYear();
  return year >= 1 && year <= 9999 ? ms : undefined;
}
