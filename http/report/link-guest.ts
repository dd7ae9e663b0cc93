// POST /link-guest: moves a guest's collection to the user who calls. The guest's token is the proof, because a guest's number
// can be guessed.

import { parseUserId } from '../../engine/model/ids.ts';
import type { ReportCollections } from '../../engine/ports/report-jobs.ts';
import { kindOf } from '../../engine/runtime/failure.ts';
import type { Caller } from '../kernel/auth/authenticate.ts';
import type { TokenVerifier } from '../kernel/auth/tokens.ts';
import { jsonBody } from '../kernel/bodies/body.ts';
import { describeValue } from '../kernel/input/describe.ts';
import type { RequestContext } from '../kernel/pipeline/context.ts';
import { forbidden, HttpError } from '../kernel/pipeline/errors.ts';
import { type Route, refusals } from '../kernel/pipeline/route.ts';
import { LinkGuestChecks, LinkGuestRequest } from './schema.ts';

export interface LinkGuestParts {
  readonly collections: Pick<ReportCollections, 'handOver'>;
  /** Verifies the guest's token, in the same way as the front end verifies its callers. */
  readonly verify: TokenVerifier | undefined;
}

const NOT_PROVED = 'the token is not a valid one of that guest';

export function linkGuestRoute(parts: LinkGuestParts): Route {
  const readBody = jsonBody(LinkGuestChecks);
  return {
    method: 'POST',
    path: '/link-guest',
    access: 'user',
    operationId: 'linkGuest',
    summary: "Moves a guest's collection into the caller's",
    body: {
      description: "The guest's token; the guest's number is optional",
      content: { 'application/json': { ...LinkGuestRequest } },
    },
    responses: {
      204: { description: 'Moved' },
      ...refusals({
        400: 'The body is not a JSON object, or larger than 512 KiB',
        403: 'The caller is no registered user, or the token is not a valid one of that guest',
        415: 'The body is not JSON',
        422: 'Values are not accepted',
      }),
    },
    handler: async (context) => {
      const { body, faults } = await readBody(context.request);
      const given = body.guestID ?? undefined;
      const named = given === undefined ? undefined : parseUserId(String(given));
      if (given !== undefined && !named)
        faults.add(['guestID'], `is ${describeValue(given)}; a whole number from 1 is required`);
      faults.throwIfAny();
      const guest = await guestOf(String(body.guestToken), parts);
      if (guest.kind !== 'guest' || (named !== undefined && named !== guest.userId)) throw forbidden(NOT_PROVED);
      await link(context, guest, parts);
    },
  };
}

/** A rejected token becomes 403. Other errors, such as keys that cannot be read now, are passed on. */
async function guestOf(token: string, { verify }: LinkGuestParts): Promise<Caller> {
  if (!verify) throw forbidden(NOT_PROVED);
  try {
    return await verify(token);
  } catch (error) {
    if (error instanceof HttpError && kindOf(error) === 'rejected') throw forbidden(NOT_PROVED);
    throw error;
  }
}

async function link(
  context: RequestContext,
  guest: Extract<Caller, { readonly kind: 'user' | 'guest' }>,
  { collections }: LinkGuestParts,
): Promise<void> {
  const from = { id: guest.userId, guest: true };
  const to = { id: context.userId, guest: false };
  await collections.handOver(from, to, context.signal);
  context.empty(204);
}
