// A REST API of ours refused; kept apart from the calls, so that explaining an error loads no HTTP client.

import { Failure } from '../../../engine/runtime/failure.ts';

/** The server answered, and not with success: its own words, whole. */
export class ApiError extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('rejected', message);
    this.status = status;
  }
}
