// The interface version of a request: the header `Api-Version`, or the version that the configuration assumes.

import type { IncomingMessage } from 'node:http';
import { API_VERSIONS, type ApiVersion, DEFAULT_API_VERSION } from '../../../engine/model/api-version.ts';
import { constantHeader, type HeaderLine } from '../answers/header-line.ts';
import { badRequest } from './errors.ts';

const HEADER = 'api-version';

/** The header of the response, by version. */
export const VERSION_LINES: Readonly<Record<ApiVersion, HeaderLine>> = {
  '1.7.0': constantHeader(HEADER, '1.7.0'),
  '1.8.0': constantHeader(HEADER, '1.8.0'),
};

export const namesVersion = (request: IncomingMessage): boolean => request.headers[HEADER] !== undefined;

/** Throws 400 for a version that does not exist. */
export function versionOf(request: IncomingMessage, assumed: ApiVersion = DEFAULT_API_VERSION): ApiVersion {
  const asked = request.headers[HEADER];
  if (asked === undefined) return assumed;
  const known = API_VERSIONS.find((version) => version === asked);
  if (!known) throw badRequest(`header Api-Version '${asked}': one of ${API_VERSIONS.join(', ')} is needed`);
  return known;
}
