// POST and DELETE /admin/rpc/object-store/hold, for `longshore backup`: hold all changes of the object store for some seconds.

import type { Static } from 'typebox';
import type { StoreHold } from '../../../engine/ports/object-store.ts';
import { checkedJsonBody } from '../../kernel/bodies/body.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import { conflict } from '../../kernel/pipeline/errors.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CLOSED } from '../metadata/create-details.ts';
import { ADMIN_REFUSALS } from './admin-route.ts';

/** Uploads wait at most this long, which is less than the timeouts of clients. */
const MAX_SECONDS = 60;

const HoldInput = Type.Named(
  'StoreHoldInput',
  {
    seconds: Type.Integer({ minimum: 1, maximum: MAX_SECONDS, description: 'The hold ends by itself after this time' }),
  },
  CLOSED,
);
const Held = Type.Named('StoreHeld', {
  until: Type.String({ format: 'date-time', description: 'When it ends by itself' }),
});
type Held = Static<typeof Held>;
const Released = Type.Named('StoreReleased', {
  held: Type.Boolean({ description: 'False if it had ended by itself' }),
});
type Released = Static<typeof Released>;

const PATH = '/admin/rpc/object-store/hold';

export function storeHoldRoutes({ storeHold }: { readonly storeHold: StoreHold | undefined }): readonly Route[] {
  const read = checkedJsonBody(HoldInput, { notAnObject: 422 });
  const demanded = (): StoreHold => {
    if (storeHold) return storeHold;
    throw conflict('the object store is a bucket; only a directory can be held');
  };
  return [
    {
      method: 'POST',
      servedWhenFull: true,
      path: PATH,
      access: 'admin',
      operationId: 'holdObjectStore',
      summary: 'Holds all changes of the object store, for a backup. Requests that change something wait; reads go on',
      body: { description: 'For how long', content: { 'application/json': { ...HoldInput } } },
      responses: {
        200: answer('Nothing changes any more', Held),
        ...refusals({
          ...ADMIN_REFUSALS,
          400: 'The body is not JSON or too large',
          409: 'The object store is a bucket',
          415: 'The body is not JSON',
          422: 'The body is invalid',
          503: 'It is held already, or changes that had begun did not end in that time',
        }),
      },
      handler: async (context) => {
        const hold = demanded();
        const { seconds } = await read(context.request);
        const held: Held = { until: (await hold.hold(seconds * 1_000, context.signal)).toISOString() };
        await context.json(200, held);
      },
    },
    {
      method: 'DELETE',
      path: PATH,
      access: 'admin',
      operationId: 'releaseObjectStore',
      summary: 'Ends the hold of the object store',
      responses: {
        200: answer('It is not held', Released),
        ...refusals({ ...ADMIN_REFUSALS, 409: 'The object store is a bucket' }),
      },
      handler: async (context) => {
        const released: Released = { held: demanded().release() };
        await context.json(200, released);
      },
    },
  ];
}
