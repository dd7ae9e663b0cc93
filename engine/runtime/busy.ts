// A service that is full at present.

import { Failure } from './failure.ts';

/** No room at present; over HTTP 503 with `Retry-After`. */
export class Busy extends Failure {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super('transient', message);
    this.name = 'Busy';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
