// GET and PATCH /users/self/notifications: about which events of datasets the caller wants mails. Nobody gets any unasked.

import type { Static } from 'typebox';
import { MAILED_KINDS } from '../../engine/model/event-mail.ts';
import type { EventMailWishes } from '../../engine/ports/event-mails.ts';
import { checkedJsonBody } from '../kernel/bodies/body.ts';
import { Type } from '../kernel/openapi/schema-node.ts';
import { answer, type Route, refusals } from '../kernel/pipeline/route.ts';
import { CLOSED } from './metadata/create-details.ts';

const Kinds = Type.Array(Type.Enum([...MAILED_KINDS]), {
  uniqueItems: true,
  description: 'Empty = no mails. Requests for access are mailed by the access service in any case',
});

const NotificationsPatch = Type.Named('NotificationsPatch', { mail: Type.Optional(Kinds) }, CLOSED);

const Notifications = Type.Named('Notifications', {
  mail: Kinds,
  mailsAreSent: Type.Boolean({ description: 'False: this installation sends no mails at present' }),
});
type Notifications = Static<typeof Notifications>;

interface NotificationOptions {
  readonly eventMails: EventMailWishes;
}

const MAX_BODY_BYTES = 4 * 1024;
const GUESTS = 'Guests have no mail address here';
const PATH = '/users/self/notifications';

/** @param mailsAreSent there is a mail server */
export function notificationRoutes({ eventMails }: NotificationOptions, mailsAreSent: boolean): readonly Route[] {
  const read = checkedJsonBody(NotificationsPatch, { maxBytes: MAX_BODY_BYTES, notAnObject: 422 });
  const view = (kinds: Notifications['mail']): Notifications => ({ mail: kinds, mailsAreSent });
  return [
    {
      method: 'GET',
      path: PATH,
      access: 'user',
      audit: 'none',
      operationId: 'getNotifications',
      summary: 'About which events of datasets the caller gets mails',
      responses: { 200: answer('The kinds of events', Notifications), ...refusals({ 403: GUESTS }) },
      handler: async (context) =>
        context.json(200, view([...(await eventMails.kinds(context.userId, context.signal))])),
    },
    {
      method: 'PATCH',
      path: PATH,
      access: 'user',
      operationId: 'patchNotifications',
      summary: 'Says about which events of datasets the caller wants mails, at the address of the account',
      body: { description: 'What changes', content: { 'application/json': { ...NotificationsPatch } } },
      responses: {
        200: answer('The kinds of events', Notifications),
        ...refusals({
          400: 'The body is not JSON or too large',
          403: GUESTS,
          415: 'The body is not JSON',
          422: 'The body is invalid',
        }),
      },
      handler: async (context) => {
        const { mail } = await read(context.request);
        if (mail) await eventMails.set(context.userId, mail, context.signal);
        await context.json(200, view([...(await eventMails.kinds(context.userId, context.signal))]));
      },
    },
  ];
}
