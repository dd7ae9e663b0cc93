// The `url` of a create request, before anything is fetched from it in earnest.

import { archiveByName } from '../../../engine/archive/archive-kind.ts';
import { type DataType, typeKey } from '../../../engine/model/data-types.ts';
import type { RemoteFiles } from '../../../engine/ports/remote-files.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { Faults } from '../../kernel/input/faults.ts';
import { failedDependency } from '../../kernel/pipeline/errors.ts';
import { extensionFault } from '../checks/file-rules.ts';

/** Shortest `sourceUrl` of the contract. */
const MIN_CHARACTERS = 10;
/** For the first byte, redirects included: somebody waits for the answer. */
const PROBE_MS = 60_000;

/** The address, or undefined after its fault was added. */
export function checkUrl(text: string, enabled: boolean, faults: Faults): URL | undefined {
  const url = URL.parse(text);
  if (!enabled)
    faults.add(['url'], 'is given, but uploads by URL are not enabled on this server (restService.urlUploads)');
  else if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    faults.add(['url'], `is ${quote(text)}; an http or https URL is needed`);
  else if ([...text].length < MIN_CHARACTERS)
    faults.add(['url'], `is ${quote(text)}; at least ${MIN_CHARACTERS} characters are needed`);
  else return url;
  return undefined;
}

/**
 * The bytes to expect, when the server says how many. Adds a fault when the address or what is there must not be used;
 * throws 424 when nothing can be had from it.
 */
export async function probeUpload(
  url: URL,
  remoteFiles: Pick<RemoteFiles, 'probe'>,
  type: DataType,
  faults: Faults,
  clock: Clock,
  signal: AbortSignal,
): Promise<number | undefined> {
  const late = (): Error => failedDependency(`${url.origin} did not answer within ${PROBE_MS / 1000} s`, url.href);
  using limit = deadline(clock, PROBE_MS, signal, late);
  const found = await remoteFiles.probe(url, limit.signal);
  switch (found.kind) {
    case 'failed':
      throw failedDependency(found.message, url.href);
    case 'refused':
      faults.add(['url'], found.reason);
      return undefined;
    case 'found': {
      const { fileName, size } = found;
      const fault = extensionFault(type, fileName, true);
      if (fault) faults.add(['url'], fault);
      else if (size !== undefined && size > type.maxFileSize && archiveByName(fileName) === undefined)
        faults.add(
          ['url'],
          `${quote(fileName)} has ${size} bytes; a file of ${typeKey(type)} may have ${type.maxFileSize}`,
        );
      return size;
    }
    default:
      throw found satisfies never;
  }
}
