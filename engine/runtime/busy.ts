// The failure of a service that is full at present.

import { Failure } from './failure.ts';

/** There is no room at present. Over HTTP this is 503 with `Retry-After`. */
export class Busy extends Failure {
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number) {
    super('transient', message);
    this.name = 'Busy';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
