// Messages that users may read about a failure that they did not cause: internal locations of services, plugins and files are
// removed. The log has the full message. Output of a script for the owner of a dataset is not changed here.

import { kindOf, messageOf } from './failure.ts';

const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/[^\s'"<>)\]};,]+(?<![:.])/gi;
/** Node.js's message for a failed name lookup. */
const LOOKED_UP = /\b(ENOTFOUND|EAI_AGAIN) [^\s'",;)]+/g;
const IP_V4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?!\w|\.\d)/g;
const IP_V6 =
  /(?<![\w:])(?:\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d{1,5})?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])(?::\d{1,5})?)/gi;
const HOST_AND_PORT = /(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}(?!\w|:\d)/gi;
const PATH = /(?<![\w./])\/(?:[^\s'"():,;/]+\/)*([^\s'"():,;/]*)/g;

/** Removes addresses, and reduces paths to their last name. */
export function withoutInside(text: string): string {
  return text
    .replace(URL_TEXT, 'an internal address')
    .replace(LOOKED_UP, '$1')
    .replace(IP_V6, 'an internal address')
    .replace(IP_V4, 'an internal address')
    .replace(HOST_AND_PORT, 'an internal address')
    .replace(PATH, '$1');
}

/** A rejection concerns the user's own input and is worded for the user. */
export const publicMessage = (error: unknown): string =>
  kindOf(error) === 'rejected' ? messageOf(error) : withoutInside(messageOf(error));

/**
 * The public message of a job's outcome.
 * @param own text that the user provided and may read again, such as a URL
 */
export function publicOutcome(
  { failure, message }: { readonly kind: string; readonly message: string; readonly failure?: string },
  own?: string,
): string {
  if (failure === 'rejected') return message;
  return own === undefined ? withoutInside(message) : message.split(own).map(withoutInside).join(own);
}
