// The `url` of a create request, before anything is fetched from it in earnest.

import type { DataType } from '../../engine/model/data-types.ts';
import { failedDependency } from '../errors.ts';
import { quote } from './checks/describe.ts';
import type { Faults } from './checks/faults.ts';
import { extensionFault } from './checks/file-rules.ts';

export type UrlProbe =
  /** Something is there; the name is what its file would be called. */
  | { readonly kind: 'found'; readonly fileName: string }
  /** The address must not be fetched from; the reason continues 'the URL ...'. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No success status, or nothing in the body. */
  | { readonly kind: 'failed'; readonly message: string };

/** Asks whether something can be fetched from the URL, without fetching it whole. */
export type ProbeUrl = (url: URL, signal: AbortSignal) => Promise<UrlProbe>;

/** Shortest `sourceUrl` of the contract. */
const MIN_CHARACTERS = 10;

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

/** Probes the address: adds a fault when it must not be used, throws 424 when nothing can be had from it. */
export async function probeUpload(
  url: URL,
  probe: ProbeUrl,
  type: DataType,
  faults: Faults,
  signal: AbortSignal,
): Promise<void> {
  const found = await probe(url, signal);
  switch (found.kind) {
    case 'failed':
      throw failedDependency(found.message, url.href);
    case 'refused':
      faults.add(['url'], found.reason);
      return;
    case 'found': {
      const fault = extensionFault(type, found.fileName, true);
      if (fault) faults.add(['url'], fault);
      return;
    }
    default:
      throw found satisfies never;
  }
}
