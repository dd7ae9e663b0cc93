// GET /admin/pauses: what is paused. PUT and DELETE /admin/pauses/{kind}/{name} pause and resume a lane, a plugin or an install
// target.

import type { Static } from 'typebox';
import { PAUSE_KINDS, type Pause, type PauseKind, type PausePlace, type Pauses } from '../../../engine/ports/pauses.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Faults } from '../../kernel/input/faults.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { notFound } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { Datetime } from '../dataset-terms.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS, nameOf } from './admin-route.ts';

const MAX_REASON = 1_000;

const PauseInput = Type.Named(
  'PauseInput',
  {
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_REASON, description: 'For other operators' })),
    until: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?(Z|[+-]\\d\\d:\\d\\d)$',
        description: 'When the pause ends by itself, in RFC 3339; absent = only when it is ended',
      }),
    ),
  },
  CLOSED,
);

const detail = {
  since: Datetime,
  by: Type.String({ description: '`Admin-Token`, or the operator, such as `user 42`' }),
  reason: Type.Optional(Type.String()),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'When it ends by itself' })),
};

/** A pause, where the context says what is paused. */
export const PauseDetail = Type.Named('PauseDetail', detail);
type PauseDetail = Static<typeof PauseDetail>;

const PauseView = Type.Named('Pause', { kind: Type.Enum([...PAUSE_KINDS]), name: Type.String(), ...detail });
type PauseView = Static<typeof PauseView>;

const PauseReport = Type.Named('PauseReport', { results: Type.Array(PauseView, { description: 'By kind and name' }) });
type PauseReport = Static<typeof PauseReport>;

interface PauseOptions {
  readonly pauses: Pick<Pauses, 'list' | 'set' | 'end'>;
  /** Names of what can be paused, by kind. */
  readonly pausable: Readonly<Record<PauseKind, readonly string[]>>;
  readonly clock: Clock;
}

const PLACE = '/admin/pauses/:kind/:name';
const PARAMS = {
  kind: { description: 'What is paused', schema: { enum: [...PAUSE_KINDS] } },
  name: {
    description: 'Of the lane, the key of the plugin in the configuration, or the id of the install target',
    schema: { type: 'string' },
  },
} as const;

export function pauseRoutes(options: PauseOptions): readonly Route[] {
  const { pauses } = options;
  const read = checkedJsonBody(PauseInput, { notAnObject: 422 });
  return [
    {
      method: 'GET',
      path: '/admin/pauses',
      access: 'admin',
      operationId: 'listPauses',
      summary: 'Lists what is paused',
      responses: { 200: answer('The pauses in force', PauseReport), ...refusals(ADMIN_REFUSALS) },
      handler: async (context) => {
        const report: PauseReport = { results: (await pauses.list(context.signal)).map(pauseView) };
        await context.json(200, report);
      },
    },
    {
      method: 'PUT',
      servedWhenFull: true,
      path: PLACE,
      access: 'admin',
      operationId: 'pause',
      summary: 'Pauses a lane, a plugin or an install target; if it is paused, changes its reason and its end',
      params: PARAMS,
      body: { description: 'Why and until when; may be empty', content: { 'application/json': { ...PauseInput } } },
      responses: {
        200: answer('It is paused', PauseView),
        ...refusals({
          ...ADMIN_REFUSALS,
          400: 'The body is not JSON or too large',
          404: 'Nothing of this kind and name exists',
          415: 'The body is not JSON',
          422: 'The body is invalid, or `until` is not in the future',
        }),
      },
      handler: async (context) => {
        const place = placeOf(context, options);
        if (!isKnown(place, options)) throw unknown(place, options);
        const { reason, until } = await read(context.request);
        const end = endOf(until, options.clock);
        const pause = await pauses.set({ ...place, by: nameOf(context.caller), reason, until: end }, context.signal);
        await context.json(200, pauseView(pause));
      },
    },
    {
      method: 'DELETE',
      path: PLACE,
      access: 'admin',
      operationId: 'resume',
      summary: 'Ends a pause. What waited for it is due at once. Does nothing if there is none',
      params: PARAMS,
      responses: {
        204: { description: 'It is not paused' },
        ...refusals({ ...ADMIN_REFUSALS, 404: 'Nothing of this kind and name exists' }),
      },
      handler: async (context) => {
        const place = placeOf(context, options);
        // A pause may outlast its plugin or target, which is then no longer configured.
        const ended = await pauses.end(place, context.signal);
        if (!ended && !isKnown(place, options)) throw unknown(place, options);
        context.empty(204);
      },
    },
  ];
}

function placeOf(context: RequestContext, options: PauseOptions): PausePlace {
  const name = context.param('name');
  const kind = PAUSE_KINDS.find((one) => one === context.param('kind'));
  if (kind) return { kind, name };
  const all = Object.keys(options.pausable).join(', ');
  throw notFound(`nothing of kind ${quote(context.param('kind'))} can be paused; kinds: ${all}`);
}

const isKnown = ({ kind, name }: PausePlace, { pausable }: PauseOptions): boolean => pausable[kind].includes(name);

const unknown = ({ kind, name }: PausePlace, { pausable }: PauseOptions) =>
  notFound(`there is no ${kind} ${quote(name)}; there is: ${pausable[kind].join(', ') || 'none'}`);

function endOf(until: string | undefined, clock: Clock): Date | undefined {
  if (until === undefined) return undefined;
  const end = new Date(until);
  if (end.getTime() > clock.now()) return end;
  const faults = new Faults();
  faults.add(['until'], `is ${quote(until)}; expected a time in the future`);
  throw faults.refusal();
}

export const pauseDetail = ({ since, by, reason, until }: Pause): PauseDetail => ({
  since: since.toISOString(),
  by,
  ...(reason === undefined ? {} : { reason }),
  ...(until === undefined ? {} : { until: until.toISOString() }),
});

const pauseView = (pause: Pause): PauseView => ({ kind: pause.kind, name: pause.name, ...pauseDetail(pause) });
