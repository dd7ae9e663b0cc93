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
  type Loaded,
  list,
  oneOrEach,
  optional,
  port,
  secret,
  section,
  text,
} from './field.ts';

const oauth = section(
  'Verification of bearer tokens: asymmetric signatures only. Exactly one of `jwksUrl` and `publicKeyFile`.',
  {
    issuer: text('Value that the `iss` claim must have.', { minLength: 1 }),
    audience: optional(
      text(
        'Value that the `aud` claim must hold. Needed unless the issuer is our own: `longshore-local`, or one with a `privateKeyFile`.',
        { minLength: 1 },
      ),
    ),
    jwksUrl: optional(formed<string>('http-url', "URL of the issuer's key set; re-read on an unknown key id.")),
    publicKeyFile: optional(formed<string>('file', 'PEM file of the one public key.')),
    privateKeyFile: optional(
      formed<string>('file', 'PEM file with which `longshore token --config` signs; no server reads it.'),
    ),
    clockTolerance: duration('How far the clocks may differ when expiry is checked.', '30s'),
    queryToken: flag('Accept `access_token` in the query of file downloads (browsers download by form).', true),
  },
  {
    also: {
      oneOf: [{ required: ['jwksUrl'] }, { required: ['publicKeyFile'] }],
      'x-forms': 'exactly one of `jwksUrl` and `publicKeyFile`',
    },
  },
);

const operators = section('Operators are people: a claim of their bearer tokens says so.', {
  claim: text('Name of the claim, a text or a list of texts; dots lead into claims that are objects.', {
    minLength: 1,
    default: 'roles',
  }),
  operator: list(
    'Values that make an operator, who may do what the `Admin-Token` may.',
    text('One value.', { minLength: 1 }),
    {
      default: [],
      uniqueItems: true,
    },
  ),
  observer: list(
    'Values that make an observer, who reads reports and changes nothing.',
    text('One value.', { minLength: 1 }),
    {
      default: [],
      uniqueItems: true,
    },
  ),
});

const authentication = section('Who callers are. Without it every call that needs a user or an admin is refused.', {
  adminToken: secret('Value of the `Admin-Token` header of administrators.', 32),
  oauth: optional(oauth),
  operators: optional(operators),
});

const limits = filled('Bounds of every listener.', {
  maxHeaderSize: integer('Bytes of the request head.', { minimum: 8192, maximum: 1_048_576, default: 16_384 }),
  maxJsonSize: integer('Bytes of a JSON body.', { minimum: 65_536, maximum: 67_108_864, default: 1_048_576 }),
  maxConnections: integer(
    'Connections per listener. Beyond them a new one takes the place of one that is idle, or is closed.',
    { minimum: 1, maximum: 65_535, default: 1000 },
  ),
  connectionsPerAddress: integer(
    'Connections of one IPv4 address, or of one /64 network of IPv6, per listener. It does not count for proxies (`trustProxy`).',
    { minimum: 1, maximum: 65_535, default: 200 },
  ),
  maxPipelined: integer(
    'Requests that one connection may have waiting for the answer before them; one that sends more is closed.',
    { minimum: 0, maximum: 1000, default: 16 },
  ),
  uploadsPerUser: integer('Uploads of one user at a time in one process; more are answered 429.', {
    minimum: 1,
    maximum: 100,
    default: 4,
  }),
  waitingPerUser: integer('Uploads, imports and installs of one user that wait; further uploads are answered 429.', {
    minimum: 1,
    maximum: 1_000_000,
    default: 1_000,
  }),
  maxUnsentSize: integer(
    'Bytes of answers, per listener, that clients have not taken yet. Beyond them the slowest clients are cut off.',
    { minimum: 1_048_576, maximum: 4_294_967_296, default: 33_554_432 },
  ),
  minTransferRate: integer(
    'Bytes per second that a client has to send of a body or take of an answer, on average over `idleTimeout`.',
    { minimum: 1, maximum: 1_048_576, default: 1024 },
  ),
  handshakeTimeout: duration('For the TLS handshake.', '10s', { positive: true }),
  headerTimeout: duration('For the whole request head.', '10s', { positive: true }),
  idleTimeout: duration('For a request whose body, or an answer whose reader, stands still.', '60s', {
    positive: true,
  }),
  keepAliveTimeout: duration('For an idle connection.', '5s', { positive: true }),
});

const basePathOf = (description: string, value?: string) =>
  text(description, {
    pattern: '^(?:/[A-Za-z0-9._~-]+)*$',
    'x-allowed': "'' or a path such as /longshore, without trailing slash",
    ...(value === undefined ? {} : { default: value }),
  });

const http = filled('Listeners of all front ends.', {
  bindHost: formed<string>('bind-host', 'Address to listen on; 0.0.0.0 for all.', { default: '127.0.0.1' }),
  enableCors: falseOr(
    'False, or the origins of the sites whose pages may call us with credentials.',
    list('Origins.', formed<string>('origin', 'One origin.'), { minItems: 1, uniqueItems: true }),
    "false, or a list of origins such as 'https://site.example'",
  ),
  adminListener: optional(
    section(
      'A listener of its own for `/admin`, `/metrics` and `/health` of the installer: the front ends of that process do not serve them then, but for a `/health` that is part of their contract.',
      {
        bindHost: formed<string>('bind-host', 'Address to listen on.', { default: '127.0.0.1' }),
        port: port('TCP port.'),
      },
    ),
  ),
  tls: optional(listenerTls),
  trustProxy: flag(
    'Believe `X-Forwarded-*` and `Forwarded` headers. Only behind a proxy that sets them. Connections of proxies are not counted per address.',
    false,
  ),
  proxies: optional(
    list(
      'Addresses of the proxies that `trustProxy` means; without it, whoever connects.',
      formed<string>('cidr', 'One address or network.'),
      { minItems: 1, uniqueItems: true },
    ),
  ),
  basePath: oneOrEach(
    'Path prefix under which a proxy publishes the front ends: one for all, or one for each. It begins every address that we give out: `Location` headers, redirects, links in answers. Requests are taken with it and without.',
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
    'Interface version of requests without `Api-Version`: its field names. Such requests are never shown a `queued` install, whichever it is.',
    API_VERSIONS,
    { default: DEFAULT_API_VERSION },
  ),
  limits,
});

const ports = filled('Ports of the front ends.', {
  installer: port('Installer API.', { default: 8080 }),
  handler: port('Handler job service. `handler.port` decides when that section is there; both must agree.', {
    default: 8081,
  }),
  report: port('Report job service.', { default: 8082 }),
  access: port('Dataset access service.', { default: 8083 }),
  pluginHost: port('Plugin host of this process; `longshore plugin` takes its port from the plugin address.', {
    default: 8084,
  }),
});

export const containerCore = section('The process: authentication, listeners, shutdown, log.', {
  authentication: optional(authentication),
  http,
  ports,
  startupWait: duration(
    'That a start waits for what the service cannot do without: the cache database, the object store, the databases of reports and dataset access.',
    '60s',
    { positive: true },
  ),
  disk: filled(
    'Room on the disks that the process writes to. Below the floor of one, what would write is refused (503) or waits.',
    {
      floor: integer('Percent of the disk that stay free.', { minimum: 0, maximum: 50, default: 5 }),
      floorSize: integer('Bytes that stay free at least.', { minimum: 0, default: 1_073_741_824 }),
    },
  ),
  shutdownGrace: duration('For running jobs after SIGTERM before they are cut off.', '30s'),
  audit: filled('Who asked for what: changes, downloads, reads by administrators, refusals.', {
    retention: duration(
      'How long rows are kept, at least. A week is dropped as a whole, so up to 7 days longer.',
      '365d',
      {
        positive: true,
      },
    ),
  }),
  log: filled('JSON lines on standard output.', {
    level: choice('Least severe level that is written.', LOG_LEVELS, { default: 'info', 'x-live': 'log-level' }),
  }),
});
export type HttpConfiguration = Loaded<typeof http>;
