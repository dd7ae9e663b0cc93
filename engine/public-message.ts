// What users may read of a failure that is not theirs: where services, plugins and files are inside stays inside. The log has
// the whole message. What a script prints for the owner of a dataset does not come by here.

import { kindOf, messageOf } from './failure.ts';

const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/[^\s'"<>)\]};,]+(?<![:.])/gi;
/** As Node.js names what it looked up in vain. */
const LOOKED_UP = /\b(ENOTFOUND|EAI_AGAIN) [^\s'",;)]+/g;
const IP_V4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?!\w|\.\d)/g;
const IP_V6 =
  /(?<![\w:])(?:\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d{1,5})?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])(?::\d{1,5})?)/gi;
const HOST_AND_PORT = /(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}(?!\w|:\d)/gi;
const PATH = /(?<![\w./])\/(?:[^\s'"():,;/]+\/)*([^\s'"():,;/]*)/g;

/** Without addresses; of paths the last name stays. */
export function withoutInside(text: string): string {
  return text
    .replace(URL_TEXT, 'an internal address')
    .replace(LOOKED_UP, '$1')
    .replace(IP_V6, 'an internal address')
    .replace(IP_V4, 'an internal address')
    .replace(HOST_AND_PORT, 'an internal address')
    .replace(PATH, '$1');
}

/** A rejection is about what the user gave, and is worded for the user. */
export const publicMessage = (error: unknown): string =>
  kindOf(error) === 'rejected' ? messageOf(error) : withoutInside(messageOf(error));

/**
 * Of how a job ended, or goes on.
 * @param own what the user gave and may read again, such as a URL
 */
export function publicOutcome(
  { failure, message }: { readonly kind: string; readonly message: string; readonly failure?: string },
  own?: string,
): string {
  if (failure === 'rejected') return message;
  return own === undefined ? withoutInside(message) : message.split(own).map(withoutInside).join(own);
}
