// `containerCore`: authentication, listeners, shutdown. The contract leaves its structure open; this structure is ours.

import { API_VERSIONS, DEFAULT_API_VERSION } from '../../engine/model/api-version.ts';
import { LOG_LEVELS } from '../../engine/model/log-level.ts';
import { listenerTls } from './database.ts';
import {
  choice,
  duration,
  falseOr,
  filled,
  flag,
  formed,
  integer,
  list,
  oneOrEach,
  optional,
  port,
  secret,
  section,
  size,
  text,
} from './field.ts';
import { webConsole } from './web-console.ts';

const oauth = section(
  'Verification of bearer tokens: asymmetric signatures only. Exactly one of `jwksUrl` and `publicKeyFile`.',
  {
    issuer: text('Required value of the `iss` claim.', { minLength: 1 }),
    audience: optional(
      text(
        'Value that the `aud` claim must contain. Required unless we issue the tokens: issuer `longshore-local`, or a `privateKeyFile` is set.',
        { minLength: 1 },
      ),
    ),
    jwksUrl: optional(
      formed<string>('http-url', "URL of the issuer's key set; read again when a token names an unknown key id."),
    ),
    publicKeyFile: optional(formed<string>('file', 'PEM file of the public key, instead of a key set.')),
    privateKeyFile: optional(
      formed<string>(
        'file',
        'PEM file of the private key that `longshore token --config` signs with; servers do not read it.',
      ),
    ),
    clockTolerance: duration('Allowed clock difference when token expiry is checked.', '30s'),
    queryToken: flag(
      'Accept `access_token` in the query string of file downloads, for browsers that download by form.',
      true,
    ),
  },
  {
    also: {
      oneOf: [{ required: ['jwksUrl'] }, { required: ['publicKeyFile'] }],
      'x-forms': 'exactly one of `jwksUrl` and `publicKeyFile`',
    },
  },
);

const operators = section('Administrators as people: a claim of their bearer token gives them a role.', {
  claim: text('Name of the claim. Its value is a string or a list of strings; dots select members of objects.', {
    minLength: 1,
    default: 'roles',
  }),
  operator: list(
    'Claim values of operators, who may do everything that the `Admin-Token` may.',
    text('One value.', { minLength: 1 }),
    {
      default: [],
      uniqueItems: true,
    },
  ),
  observer: list(
    'Claim values of observers, who may read reports but change nothing.',
    text('One value.', { minLength: 1 }),
    {
      default: [],
      uniqueItems: true,
    },
  ),
});

const authentication = section(
  'How callers are authenticated. Without it every call that requires a user or an administrator is refused.',
  {
    adminToken: secret('Value of the `Admin-Token` header of administrators.', 32),
    oauth: optional(oauth),
    operators: optional(operators),
  },
);

const limits = filled('Limits of every listener.', {
  maxHeaderSize: size("Bytes of a request's header section.", {
    minimum: 8192,
    maximum: 1_048_576,
    default: 16_384,
  }),
  maxJsonSize: size('Bytes of a JSON body.', { minimum: 65_536, maximum: 67_108_864, default: 1_048_576 }),
  maxConnections: integer(
    'Connections per listener. At the limit a new connection replaces an idle one, or is closed.',
    { minimum: 1, maximum: 65_535, default: 1000 },
  ),
  connectionsPerAddress: integer(
    'Connections per listener from one IPv4 address or one IPv6 /64 network. Does not apply to proxies (`trustProxy`).',
    { minimum: 1, maximum: 65_535, default: 200 },
  ),
  maxPipelined: integer('Pipelined requests that may wait on one connection; a connection that sends more is closed.', {
    minimum: 0,
    maximum: 1000,
    default: 16,
  }),
  uploadsPerUser: integer('Concurrent uploads of one user in one process; further uploads get 429.', {
    minimum: 1,
    maximum: 100,
    default: 4,
  }),
  waitingPerUser: integer('Waiting uploads, imports and installs of one user; further uploads get 429.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
  }),
  eventStreamsPerUser: integer(
    'Streams of dataset events of one user in one process. Further ones get 429. Guests of one address count as one user.',
    { minimum: 1, maximum: 10_000, default: 20 },
  ),
  eventStreams: integer('Streams of dataset events in one process. Further ones get 503.', {
    minimum: 1,
    maximum: 65_535,
    default: 500,
  }),
  maxUnsentSize: size(
    'Bytes of responses, per listener, that clients have not read yet. Above the limit the slowest clients are disconnected.',
    { minimum: 1_048_576, maximum: 4_294_967_296, default: 33_554_432 },
  ),
  minTransferRate: size(
    'Minimum bytes per second at which a client must send a body or read a response, averaged over `idleTimeout`.',
    { minimum: 1, maximum: 1_048_576, default: 1024 },
  ),
  handshakeTimeout: duration('For the TLS handshake.', '10s', { positive: true }),
  headerTimeout: duration('For the complete header section of a request.', '10s', { positive: true }),
  idleTimeout: duration('For a request body or a response that makes no progress.', '60s', {
    positive: true,
  }),
  keepAliveTimeout: duration('For an idle connection.', '5s', { positive: true }),
});

const requestsPerMinute = (description: string) => integer(description, { minimum: 1, maximum: 1_000_000 });

const basePathOf = (description: string, value?: string) =>
  text(description, {
    pattern: '^(?:/[A-Za-z0-9._~-]+)*$',
    'x-allowed': "'' or a path such as /longshore, without trailing slash",
    ...(value === undefined ? {} : { default: value }),
  });

const http = filled('HTTP listeners of all front ends.', {
  bindHost: formed<string>('bind-host', 'Address to listen on; 0.0.0.0 for all.', { default: '127.0.0.1' }),
  enableCors: falseOr(
    'False, or the origins whose pages may call us with credentials.',
    list('Origins.', formed<string>('origin', 'One origin.'), { minItems: 1, uniqueItems: true }),
    "false, or a list of origins such as 'https://site.example'",
  ),
  adminListener: optional(
    section(
      "Separate listener for the installer's `/admin`, `/metrics` and `/health`. The other front ends of the process then stop serving them, except a `/health` that is part of their contract.",
      {
        bindHost: formed<string>('bind-host', 'Address to listen on.', { default: '127.0.0.1' }),
        port: port('TCP port.'),
      },
    ),
  ),
  tls: optional(listenerTls),
  trustProxy: flag(
    'Trust `X-Forwarded-*` and `Forwarded` headers. Enable only behind a proxy that sets them. `connectionsPerAddress` does not apply to proxies.',
    false,
  ),
  proxies: optional(
    list(
      'Addresses of trusted proxies. If absent, `trustProxy` trusts every peer.',
      formed<string>('cidr', 'One address or network.'),
      { minItems: 1, uniqueItems: true },
    ),
  ),
  basePath: oneOrEach(
    'Path prefix under which a proxy publishes the front ends: one for all, or one for each. It is prepended to every address we return: `Location` headers, redirects, links in responses. Requests are accepted with and without it.',
    basePathOf('All front ends.', ''),
    section('One for each; none for those that are not named.', {
      installer: optional(basePathOf('Installer API.')),
      handler: optional(basePathOf('Handler job service.')),
      report: optional(basePathOf('Report job service.')),
      access: optional(basePathOf('Dataset access service.')),
      pluginHost: optional(basePathOf('Plugin host.')),
    }),
    {
      default: '',
      'x-allowed':
        "'' or a path such as /longshore, without trailing slash; or {installer, handler, report, access, pluginHost} of such paths",
    },
  ),
  assumedApiVersion: choice(
    'Interface version, and thus field names, for requests without `Api-Version`. These requests never see a `queued` install, whatever the version.',
    API_VERSIONS,
    { default: DEFAULT_API_VERSION },
  ),
  limits,
  rateLimit: optional(
    section(
      'Requests per minute and process; further ones get 429. Off by default. `/health`, `/ready`, `/metrics`, operators, administrators and services with a token of their own are not limited.',
      {
        perUser: optional(requestsPerMinute('Requests per minute of one user or guest.')),
        perAddress: optional(
          requestsPerMinute(
            'Requests per minute from one IPv4 address or one IPv6 /64 network, before authentication.',
          ),
        ),
      },
    ),
  ),
});

const ports = filled('Ports of the front ends.', {
  installer: port('Installer API.', { default: 8080 }),
  handler: port('Handler job service. If `handler.port` is set, both must be equal.', {
    default: 8081,
  }),
  report: port('Report job service.', { default: 8082 }),
  access: port('Dataset access service.', { default: 8083 }),
  pluginHost: port("Plugin host of this process. `longshore plugin` uses the port of the plugin's `server`.", {
    default: 8084,
  }),
});

export const containerCore = section('The process: authentication, listeners, shutdown, log.', {
  authentication: optional(authentication),
  console: webConsole,
  http,
  ports,
  startupWait: duration(
    'How long startup waits for required dependencies: the cache database, the object store, the report and access databases.',
    '60s',
    { positive: true },
  ),
  disk: filled(
    'Free space on the disks that the process writes to. Below the floor, requests that write get 503 and jobs wait.',
    {
      floor: integer('Percentage of the disk to keep free.', { minimum: 0, maximum: 50, default: 5 }),
      floorSize: size('Minimum number of bytes to keep free.', { minimum: 0, default: 1_073_741_824 }),
    },
  ),
  shutdownGrace: duration('How long running jobs may continue after SIGTERM before they are aborted.', '30s'),
  audit: filled('Audit trail of changes, downloads, administrator reads and refusals.', {
    retention: duration(
      'Minimum time that rows are kept. Whole weeks are dropped, so rows may stay up to 7 days longer.',
      '365d',
      {
        positive: true,
      },
    ),
  }),
  history: filled('History of datasets: what was tried when, by which process, and how it ended; and their events.', {
    retention: duration('How long they are kept, also of datasets that are gone.', '30d', {
      positive: true,
      'x-live': 'history-retention',
    }),
  }),
  log: filled('JSON lines on standard output.', {
    level: choice('Minimum level that is logged.', LOG_LEVELS, { default: 'info', 'x-live': 'log-level' }),
  }),
});
