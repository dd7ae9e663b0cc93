// How we know who calls, and what callers of each kind may ask for.

import type { PromiseRow } from '../promises.ts';

export const CALLERS: readonly PromiseRow[] = [
  {
    id: 'routes-authorized',
    promise: 'Every route declares who may call it, and refuses everybody else.',
    heldBy: [
      { file: 'test/http/installer/authorization.test.ts', test: 'who may call …: … …' },
      {
        file: 'test/http/installer/authorization.test.ts',
        test: 'the table has no row of a route that does not exist',
      },
      { file: 'test/http/report/authorization.test.ts', test: 'who may call …: … …' },
      {
        file: 'test/http/access/authorization-first.test.ts',
        test: 'every unauthorised call is answered alike whatever exists, does the same, and sends nothing',
      },
      {
        file: 'test/http/kernel/pipeline/request-pipeline.test.ts',
        test: 'every access lets in exactly whom it names',
      },
    ],
  },
  {
    id: 'service-tokens',
    promise: 'With a token configured, handler jobs and plugin hosts serve only callers that have it.',
    heldBy: [
      { file: 'test/http/handler/post-job.test.ts', test: 'with a token every /job needs it, and nothing else does' },
      {
        file: 'test/http/plugin-host/routes.test.ts',
        test: 'with a token configured only its holder may change anything',
      },
    ],
  },
  {
    id: 'tokens-verified',
    promise: 'A bearer token needs an asymmetric signature of the configured issuer, a user id and an expiry time.',
    heldBy: [
      { file: 'test/http/kernel/auth/tokens.test.ts', test: 'a token that is not good is 401 with the reason' },
      {
        file: 'test/http/kernel/auth/tokens.test.ts',
        test: 'every kind of public key does for its own algorithms only',
      },
    ],
  },
  {
    id: 'claims-closed',
    promise: 'Claims that decide who somebody is are taken as the type that they must have, or refused by name.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/tokens.test.ts',
        test: 'what decides who somebody is has the type that it must have, or is absent',
      },
      {
        file: 'test/attack/caller-claims.test.ts',
        test: 'nobody takes a grant with an address that the issuer does not vouch for',
      },
      {
        file: 'test/attack/caller-claims.test.ts',
        test: 'no letter is taken for another one in an address',
      },
    ],
  },
  {
    id: 'token-memory',
    promise: 'We trust a verified token for at most a minute, and never after it expires.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/tokens.test.ts',
        test: 'a token is believed for a minute, and not after it expires',
      },
      {
        file: 'test/http/kernel/auth/tokens.test.ts',
        test: 'a token that was accepted is refused once it has expired; another signature is not believed',
      },
    ],
  },
  {
    id: 'token-in-query',
    promise: 'We accept a token in the query for downloads only, and never next to a different token.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/authenticate.test.ts',
        test: 'a token in the query is taken only where the route allows it, and never beside another',
      },
    ],
  },
  {
    id: 'admin-token',
    promise: 'Administrators need the Admin-Token header; without a configured token there are no administrators.',
    heldBy: [
      { file: 'test/http/access/authorization-first.test.ts', test: 'a wrong administrator is refused alike' },
      {
        file: 'test/http/kernel/auth/authenticate.test.ts',
        test: 'without a configured token there are no administrators',
      },
    ],
  },
  {
    id: 'operators',
    promise: 'An operator may do what the Admin-Token may, an observer reads reports and changes nothing.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/operators.test.ts',
        test: 'an operator may do what the Admin-Token may, an observer reads reports, and nobody else does either',
      },
      {
        file: 'test/http/kernel/auth/operator-routes.test.ts',
        test: '…: who is let in to each route, and as what',
      },
      {
        file: 'test/attack/operator-claims.test.ts',
        test: 'operators do everything, observers read reports, and nobody else is either',
      },
    ],
  },
  {
    id: 'admin-guesses',
    promise:
      'Wrong Admin-Tokens and tokens of services are logged without the token, and an address that sends many is not listened to for a while.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/token-guesses.test.ts',
        test: 'an address that sends wrong tokens is not listened to for a while, and no other one is',
      },
      {
        file: 'test/http/kernel/auth/token-guesses.test.ts',
        test: 'every wrong token that was looked at is logged, that an address is held off once, and never a token',
      },
      {
        file: 'test/attack/admin-guesses.test.ts',
        test: 'guesses of the Admin-Token are held off, over all services, and told in the log',
      },
      {
        file: 'test/http/kernel/auth/token-guesses.test.ts',
        test: '…: an address that guesses is held off, and the caller’s is not',
      },
    ],
  },
  {
    id: 'audit',
    promise:
      'Changes, downloads, reads by administrators, and refusals leave a row in the audit trail, and no row has a secret.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/audited-routes.test.ts',
        test: '…: each route leaves one row for each answer that is to be recorded, and no secret',
      },
      {
        file: 'test/attack/audit.test.ts',
        test: 'guesses, downloads, changes and reads of administrators are in the trail, without a secret, for good',
      },
    ],
  },
  {
    id: 'audit-first',
    promise: 'A change is answered once its row is in the audit table, or in the log when the table does not take it.',
    heldBy: [
      {
        file: 'test/http/kernel/pipeline/request-audit.test.ts',
        test: 'the answer to a change waits for its row, and comes without it when the table is away',
      },
      {
        file: 'test/http/kernel/pipeline/audit-trail.test.ts',
        test: 'while the table is away rows go to the log, are counted, and hold nobody up',
      },
    ],
  },
  {
    id: 'audit-append-only',
    promise: 'The database refuses to change or delete rows of the audit trail.',
    heldBy: [
      {
        file: 'test/engine/adapters/datasets/audit.test.ts',
        test: 'update, delete and truncate are refused by the database, to the owner and to a superuser',
      },
    ],
  },
  {
    id: 'constant-time',
    promise: 'We compare secrets from callers in constant time.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/authenticate.test.ts',
        test: 'secrets are compared in constant time, whatever their length',
      },
    ],
  },
  {
    id: 'guests-apart',
    promise: 'A guest gets nothing of the user with the same number.',
    heldBy: [
      {
        file: 'test/http/installer/visibility.test.ts',
        test: 'a guest with the number of a user has no part in what the user sees',
      },
      {
        file: 'test/http/access/permission-table.test.ts',
        test: 'a guest with the number of a user has no part in what the user has',
      },
      {
        file: 'test/conformance/report-collections.ts',
        test: 'the collection of a guest is not that of the user of the same number',
      },
    ],
  },
  {
    id: 'issuer-away',
    promise: 'While the keys of the issuer cannot be read, we let nobody in and do not blame the token.',
    heldBy: [
      {
        file: 'test/http/kernel/auth/tokens.test.ts',
        test: 'an issuer that does not answer is no fault of the token, and is left alone for a while',
      },
    ],
  },
];
