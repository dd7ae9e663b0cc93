// A request that is not of the plugin protocol.

import { Failure } from '../../engine/failure.ts';

export class BadRequest extends Failure {
  readonly status: 400 | 413 | 415;

  constructor(message: string, status: 400 | 413 | 415 = 400) {
    super('rejected', message);
    this.name = 'BadRequest';
    this.status = status;
  }
}
