// Records requests in the audit trail. Changes and reads by administrators are recorded before the response is sent; downloads
// and refusals are recorded within a second after it.

import { type AuditActor, type AuditRow, outcomeOf } from '../../../engine/model/audit.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { Caller } from '../auth/authenticate.ts';
import { clientAddress } from '../server/peer-address.ts';
import type { RequestScope } from '../server/request-scope.ts';
import type { AuditTrail } from './audit-trail.ts';
import { auditOf, type Route } from './route.ts';

/** Most characters recorded of an id in a path. No record has a longer id. */
const LONGEST_ID = 256;
/** Matches the paths of routes about a dataset. */
const OF_DATASET = /\/datasets\/:id(?:\/|$)/;

export interface RequestAuditOptions {
  readonly trail: Pick<AuditTrail, 'keep' | 'add' | 'refused'>;
  /** The name of the front end. */
  readonly service: string;
  readonly isProxy: (address: string) => boolean;
  readonly clock: Clock;
}

/** Fields of a request's row that only its handler knows. */
export interface Concerned {
  /** The name of the configured token that the caller sent. */
  readonly machine?: string;
  readonly dataset?: string;
  /** In addition to the path parameters. */
  readonly records?: Readonly<Record<string, string>>;
}

export class RequestAudit {
  readonly #options: RequestAuditOptions;

  constructor(options: RequestAuditOptions) {
    this.#options = options;
  }

  /** Called when the caller is admitted. The response will wait for its row, unless it is a refusal. */
  admitted(scope: RequestScope, route: Route, caller: Caller): void {
    scope.admitted = true;
    const kind = auditOf(route);
    if (kind !== 'change' && caller.kind !== 'admin') return;
    scope.response.hold((status) => {
      if (outcomeOf(status) === 'refused') return undefined;
      scope.recorded = true;
      return this.#options.trail.keep(this.#row(scope, route, status));
    });
  }

  /** Called when the response is sent, or never will be. */
  ended(scope: RequestScope): void {
    const { route, response, admitted, recorded, clientGone } = scope;
    if (!route || recorded) return;
    const { trail } = this.#options;
    const row = this.#row(scope, route, response.headersSent ? response.statusCode : undefined);
    const isOfInterest = auditOf(route) !== undefined || scope.caller.kind === 'admin';
    // A caller who was not admitted may try as often as they like, so these rows are counted.
    if (row.kind === 'refusal' || (isOfInterest && !admitted)) trail.refused(row);
    else if (isOfInterest) trail.add(clientGone ? { ...row, outcome: 'cut' } : row);
  }

  #row(scope: RequestScope, route: Route, status: number | undefined): AuditRow {
    const { service, isProxy, clock } = this.#options;
    const { id, request, caller, admitted, params, concerned } = scope;
    const ids = { ...params, ...concerned.records };
    const records = Object.fromEntries(Object.entries(ids).map(([name, value]) => [name, shortened(value)]));
    const dataset = concerned.dataset ?? (OF_DATASET.test(route.path) ? params.id : undefined);
    // For a caller who was not admitted, 429 means guesses of a secret.
    const outcome = status === undefined ? 'cut' : !admitted && status === 429 ? 'refused' : outcomeOf(status);
    return {
      at: clock.now(),
      kind: outcome === 'refused' ? 'refusal' : (auditOf(route) ?? 'admin-read'),
      actor: actorOf(caller, concerned),
      address: clientAddress(request, isProxy),
      service,
      method: request.method ?? '',
      route: route.path,
      ...(dataset === undefined ? {} : { dataset: shortened(dataset) }),
      records,
      outcome,
      ...(status === undefined ? {} : { status }),
      count: 1,
      request: id,
    };
  }
}

function actorOf(caller: Caller, { machine }: Concerned): AuditActor {
  switch (caller.kind) {
    case 'anonymous':
      return machine === undefined ? { kind: 'anonymous' } : { kind: 'machine', id: machine };
    case 'admin':
      return caller.operator ? actorOf(caller.operator, {}) : { kind: 'machine', id: 'Admin-Token' };
    case 'user':
    case 'guest':
      return { kind: caller.role ?? caller.kind, id: caller.userId };
    default:
      return caller satisfies never;
  }
}

const shortened = (id: string): string =>
  (id.length <= LONGEST_ID ? id : `${id.slice(0, LONGEST_ID - 1)}…`).toWellFormed();
