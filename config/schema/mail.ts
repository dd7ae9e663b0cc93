// `mail`: the SMTP server that takes our mails (ours).

import { choice, duration, filled, integer, openAddress, optional, secret, section, text } from './field.ts';
import type { Loaded } from './loaded.ts';
import { tlsOptions } from './tls.ts';

export const SMTP_PORTS = { none: 25, starttls: 587, tls: 465 } as const;

export const mail = section(
  'Outgoing mail.',
  {
    server: openAddress(
      `SMTP server. The port defaults to ${SMTP_PORTS.starttls}, ${SMTP_PORTS.tls} with \`tls\`, ${SMTP_PORTS.none} with \`none\`.`,
    ),
    security: choice(
      'How the connection is encrypted; `starttls` refuses a server that cannot.',
      ['starttls', 'tls', 'none'],
      {
        default: 'starttls',
      },
    ),
    tlsOptions,
    username: optional(text('User, when the server wants one.', { minLength: 1 })),
    password: optional(secret('Password of the user.', 1)),
    from: text('Sender of our mails.', { format: 'email' }),
    replyTo: optional(text('Where answers go; the sender when absent.', { format: 'email' })),
    timeout: duration('For connecting and for each answer of the server.', '30s', { positive: true }),
    retry: filled('Of mails that the server did not take.', {
      tries: integer('In all.', { minimum: 1, maximum: 100, default: 12 }),
      base: duration('Wait before the second try; it doubles from try to try, with jitter.', '1m', { positive: true }),
      max: duration('Longest wait.', '6h', { positive: true }),
    }),
  },
  { also: { dependentRequired: { username: ['password'], password: ['username'] } } },
);
export type MailConfiguration = Loaded<typeof mail>;
