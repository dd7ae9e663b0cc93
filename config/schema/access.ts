// `access`: the dataset access service (ours).

import { serviceDb } from './database.ts';
import { duration, filled, flag, formed, optional, section, text } from './field.ts';
import type { Loaded } from './loaded.ts';

const sitePath = (description: string, value: string) =>
  text(description, { pattern: '^/', default: value, 'x-allowed': 'a path that starts with /' });

export const access = section('Decides who may see which dataset.', {
  db: optional(serviceDb('access')),
  siteUrl: optional(formed<string>('http-url', 'The site that mails link to; required with `mail`.')),
  supportEmail: optional(text('Copied on access mails; required with `mail`.', { format: 'email' })),
  registrationPath: sitePath('Page of the site where people sign up.', '/app/user/registration'),
  applicationPath: sitePath('Page of the site where requests are made.', '/app/study-access'),
  userStudyIdPrefix: text(
    'Put before the id of a user study in permissions, for front ends that look it up so; ids are taken with it and without.',
    {
      pattern: '^[A-Za-z0-9_]{0,32}$',
      default: '',
      'x-allowed': 'at most 32 letters, digits and `_`; no id of a curated dataset may begin with it',
    },
  ),
  permissions: filled('Answers about permissions.', {
    listAll: flag('List every curated dataset, not only those that the caller has to do with.', false),
  }),
  autoApproval: filled('Approval of requests whose waiting time is over.', {
    enabled: flag('Run by timer; the endpoint for it works either way.', true),
    interval: duration('Between runs.', '1h', { positive: true, 'x-live': 'daemon-interval' }),
  }),
});
export type AccessConfiguration = Loaded<typeof access>;
