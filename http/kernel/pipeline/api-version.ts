// The interface version of a request: the header `Api-Version`, or the version that the configuration assumes.

import type { IncomingMessage } from 'node:http';
import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION } from '../../../engine/model/api-version.ts';
import { badRequest } from './errors.ts';

/** The header of requests and responses. */
export const VERSION_HEADER = 'api-version';

export const namesVersion = (request: IncomingMessage): boolean => request.headers[VERSION_HEADER] !== undefined;

/** Throws 400 for a version that does not exist. */
export function versionOf(request: IncomingMessage, assumed: ApiVersion = DEFAULT_API_VERSION): ApiVersion {
  const asked = request.headers[VERSION_HEADER];
  if (asked === undefined) return assumed;
  const known = API_VERSIONS.find((version) => version === asked);
  if (!known) throw badRequest(`header Api-Version '${asked}': expected one of ${API_VERSIONS.join(', ')}`);
  return known;
}
