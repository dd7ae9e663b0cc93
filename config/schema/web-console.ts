// `containerCore.console`: the web console (docs/console.md).

import { filled, formed, list, optional, section, text } from './field.ts';

const oidc = section('Sign-in at the issuer of `authentication.oauth`, by authorization code with PKCE.', {
  clientId: text(
    'Id of the console as a public client of the issuer. Its redirect URL is the address of the console.',
    {
      minLength: 1,
    },
  ),
  scopes: text(
    'Scopes that it asks for, separated by spaces. With `offline_access`, most issuers give refresh tokens.',
    {
      minLength: 1,
      default: 'openid profile email',
    },
  ),
  origins: list(
    "Origins of the issuer's endpoints, if they differ from that of `issuer`: the console may call no others.",
    formed<string>('origin', 'One origin.'),
    { default: [], uniqueItems: true },
  ),
});

export const webConsole = filled(
  'The web console, which the installer serves at `/`, or at `/console` if it has a `basePath`.',
  {
    product: text('Name of the installation in the title of the pages.', {
      minLength: 1,
      maxLength: 80,
      default: 'Longshore',
    }),
    origin: optional(
      formed<string>(
        'origin',
        'Origin at which people open the console. Its pages may call the access and report services. Default: on a loopback address, the port of the installer; otherwise only the origins of `http.enableCors`.',
      ),
    ),
    accessUrl: optional(
      formed<string>(
        'http-url',
        'URL of the dataset access service for browsers. Default: the host of the console, with the base path or the port of the service.',
      ),
    ),
    reportUrl: optional(formed<string>('http-url', 'URL of the report job service for browsers. Default: likewise.')),
    oidc: optional(oidc),
  },
);
