// What users read about failures. Operators find the whole message in the log and in the history.
//
//   full or unavailable   a sentence that says what
//   a script failed       that it failed. A script speaks to users only when it refuses the data (exit code 99)
//   defect                that it is an internal error
//   rejected              the message, which is written for the user
//   anything else         the message without internal locations of services, plugins and files

import { evidenceOf, Failure, kindOf, type Lack, lackOf, messageOf } from './failure.ts';

const LACKS: Readonly<Record<Lack, string>> = {
  room: 'the storage of the service is full; an administrator has to make room',
  storage: 'the storage of the service cannot be reached at the moment',
  database: 'a database of the service cannot be reached at the moment',
};
const INTERNAL = 'an internal error; an administrator can see why';

/** The text of anything thrown. */
export const ownerText = (error: unknown): string =>
  fixedText(error) ?? (kindOf(error) === 'rejected' ? messageOf(error) : withoutInternals(messageOf(error)));

/** The text for an error whose own message users must not read; undefined for other errors. */
export function fixedText(error: unknown): string | undefined {
  const lack = lackOf(error);
  if (lack) return LACKS[lack];
  if (kindOf(error) === 'rejected' && evidenceOf(error).exitCode)
    return scriptText({ message: messageOf(error), ...evidenceOf(error) });
  return kindOf(error) === 'defect' ? INTERNAL : undefined;
}

/** @param what names the script, such as `import` */
export const scriptText = (
  { message, exitCode }: { readonly message: string; readonly exitCode?: number | undefined },
  what = '',
): string =>
  // Without an exit code, the script broke a rule, and the message says which.
  exitCode
    ? `the ${what === '' ? '' : `${what} `}script of the plugin failed; an administrator has the details`
    : withoutInternals(message);

/**
 * The text of a job's outcome.
 * @param own text that the user provided and may read again, such as a URL
 */
export function outcomeText(
  { failure, message, forOwner }: { readonly message: string; readonly failure?: string; readonly forOwner?: string },
  own?: string,
): string {
  if (forOwner !== undefined) return forOwner;
  if (failure === 'rejected') return message;
  if (failure === 'defect') return INTERNAL;
  return own === undefined ? withoutInternals(message) : message.split(own).map(withoutInternals).join(own);
}

/** For callers of a service, which may be programs. They read the messages of our own failures. */
export function callerText(error: unknown): string {
  if (!(error instanceof Failure)) return 'an internal error; see the log';
  return kindOf(error) === 'rejected' ? error.message : withoutInternals(error.message);
}

/** Errors of system calls, as Node.js words them: `ENOSPC: no space left on device, copyfile '/a' -> '/b'`. */
const SYSTEM_ERROR = /\bE[A-Z0-9]+: ([a-z][a-z /-]*), [a-z]+(?: '[^']*'(?: -> '[^']*')?)?/g;
const URL_TEXT = /\b[a-z][a-z0-9+.-]*:\/\/[^\s'"<>)\]};,]+(?<![:.])/gi;
/** Node.js's message for a failed name lookup. */
const LOOKED_UP = /\b(ENOTFOUND|EAI_AGAIN) [^\s'",;)]+/g;
const IP_V4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?!\w|\.\d)/g;
const IP_V6 =
  /(?<![\w:])(?:\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d{1,5})?|(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])(?::\d{1,5})?)/gi;
const HOST_AND_PORT = /(?<![\w.-])[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*:\d{2,5}(?!\w|:\d)/gi;
const PATH = /(?<![\w./])\/(?:[^\s'"():,;/]+\/)*([^\s'"():,;/]*)/g;

/** Removes addresses, and reduces paths to their last name. */
export function withoutInternals(text: string): string {
  return text
    .replace(SYSTEM_ERROR, '$1')
    .replace(URL_TEXT, 'an internal address')
    .replace(LOOKED_UP, '$1')
    .replace(IP_V6, 'an internal address')
    .replace(IP_V4, 'an internal address')
    .replace(HOST_AND_PORT, 'an internal address')
    .replace(PATH, '$1');
}
