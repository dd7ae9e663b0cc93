// The options of uploads by URL, from the configuration.

import type { Configuration } from '../../config/configuration.ts';
import type { RemoteHttpOptions } from '../../engine/adapters/remote/remote-http.ts';

/** Undefined when they are disabled. */
export function urlUploads({ restService }: Configuration['installer']): RemoteHttpOptions | undefined {
  const { enabled, allow, ports, maxRedirects, connectTimeoutMs, idleTimeoutMs } = restService.urlUploads;
  return enabled ? { allow, ports, maxRedirects, connectMs: connectTimeoutMs, idleMs: idleTimeoutMs } : undefined;
}
