// PATCH /admin/lanes/{lane}/sizes: how many jobs a lane of the process that answers runs and holds, until the next reload.

import type { Static } from 'typebox';
import type { ProcessSettings } from '../../../engine/ports/process-control.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { quote } from '../../kernel/input/describe.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { invalidInput, notFound } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

const Size = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const LaneSizesInput = Type.Named(
  'LaneSizesInput',
  { workerCount: Size('Most jobs that run at once'), inMemoryQueueSize: Size('Most jobs that are claimed and held') },
  { ...CLOSED, description: 'The bounds are those of the configuration file; what is absent stays as it is' },
);

const LaneSized = Type.Named('LaneSized', {
  applied: Type.Array(
    Type.Object({
      path: Type.String({ description: 'Key path in the configuration file' }),
      from: Type.Integer({ description: 'What ran' }),
      to: Type.Integer({ description: 'What runs now' }),
    }),
    { description: 'What differs from before. To keep it, write it to the file' },
  ),
});
type LaneSized = Static<typeof LaneSized>;

interface LaneSizesOptions {
  readonly processSettings: Pick<ProcessSettings, 'sizeLane'>;
}

export function laneSizesRoute({ processSettings }: LaneSizesOptions): Route {
  const read = checkedJsonBody(LaneSizesInput, { notAnObject: 422 });
  return {
    method: 'PATCH',
    servedWhenFull: true,
    path: '/admin/lanes/:lane/sizes',
    access: 'admin',
    operationId: 'sizeLane',
    summary:
      'Changes how many jobs a lane of the responding process runs and holds, until its configuration is reloaded or it stops; running jobs finish',
    params: { lane: { description: 'Its name in the configuration file, or `report`', schema: { type: 'string' } } },
    body: { description: 'The sizes', content: { 'application/json': { ...LaneSizesInput } } },
    responses: {
      200: answer('It has these sizes', LaneSized),
      ...refusals({
        ...ADMIN_REFUSALS,
        400: 'The body is not JSON or too large',
        404: 'There is no such lane, or its sizes need a restart',
        415: 'The body is not JSON',
        422: 'The body is invalid, or a size is outside the bounds of the configuration file',
      }),
    },
    handler: async (context) => {
      const lane = context.param('lane');
      const sizes = await read(context.request);
      const asked = Object.entries(sizes).map(([size, value]) => [size, String(value)]);
      context.concerns({ records: Object.fromEntries(asked) });
      const outcome = processSettings.sizeLane(lane, sizes);
      if (outcome.kind === 'unknown')
        throw notFound(`there is no lane ${quote(lane)} whose sizes can change; there is: ${outcome.lanes.join(', ')}`);
      if (outcome.kind === 'faulty') {
        const byKey = Object.fromEntries(outcome.faults.map(({ path, text }) => [path, [text]]));
        throw invalidInput('the sizes are outside their bounds; nothing was changed', { general: [], byKey });
      }
      const sized: LaneSized = {
        applied: outcome.applied.map(({ path, from, to }) => ({ path, from: Number(from), to: Number(to) })),
      };
      await context.json(200, sized);
    },
  };
}
