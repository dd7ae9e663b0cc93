// An error response of a REST API. In its own file, so that explaining an error loads no HTTP client.

import { Failure } from '../../../engine/runtime/failure.ts';

/** The server responded with an error. The message is the server's, complete. */
export class ApiError extends Failure {
  readonly status: number;

  constructor(status: number, message: string) {
    super('rejected', message);
    this.status = status;
  }
}
